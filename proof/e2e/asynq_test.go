package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/asynqlimit"
	"github.com/aimd-go/aimd/proof/e2e/internal/program"
)

// redisServer is asynq on a redis-server.
type redisServer struct {
	address   string
	dir       string
	redis     *redis.Client
	inspector *asynq.Inspector
}

func startRedis(t *testing.T) *redisServer {
	t.Helper()
	r := &redisServer{address: program.Address(t), dir: filepath.Join(t.TempDir(), "data")}
	require.NoError(t, os.Mkdir(r.dir, 0o700))
	redisProcess(t, program.Path(t, "redis-server", "redis-server"), r.address, r.dir)
	r.redis = redis.NewClient(&redis.Options{Addr: r.address})
	t.Cleanup(func() { _ = r.redis.Close() })
	r.inspector = asynq.NewInspectorFromRedisClient(r.redis)
	return r
}

// redisProcess starts a redis-server, empty.
func redisProcess(t *testing.T, path, address, dir string, more ...string) *process {
	t.Helper()
	_, port, _ := net.SplitHostPort(address)
	return startProcess(t, server("TERM", append([]string{path, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", ""}, more...)...)).
		listening(t, address)
}

func (r *redisServer) insert(t *testing.T, n int) {
	t.Helper()
	c := asynq.NewClientFromRedisClient(r.redis)
	for i := range n {
		_, err := c.Enqueue(asynq.NewTask("job", fmt.Append(nil, i)), asynq.Retention(time.Hour))
		require.NoError(t, err)
	}
}

func (r *redisServer) open() int {
	q, err := r.inspector.GetQueueInfo("default")
	if err != nil {
		return -1
	}
	return q.Pending + q.Active + q.Scheduled + q.Retry
}

func (r *redisServer) age(t *testing.T) int {
	t.Helper()
	ids, err := r.redis.ZRange(t.Context(), "asynq:{default}:lease", 0, -1).Result()
	require.NoError(t, err)
	for _, id := range ids {
		require.NoError(t, r.redis.ZIncrBy(t.Context(), "asynq:{default}:lease", -120, id).Err())
	}
	return len(ids)
}

// full is by a snapshot that cannot be written, since its directory is gone: Redis then refuses writes as it does with
// a full disk.
func (r *redisServer) full(t *testing.T) (mended func()) {
	require.NoError(t, os.RemoveAll(r.dir))
	require.NoError(t, r.redis.ConfigSet(t.Context(), "save", "3600 1").Err())
	require.NoError(t, r.redis.BgSave(t.Context()).Err())
	eventually(t, func() bool { return r.redis.Set(t.Context(), "x", 1, time.Second).Err() != nil }, "the snapshot fails")
	require.ErrorContains(t, r.redis.Set(t.Context(), "x", 1, time.Second).Err(), "MISCONF")
	return func() { require.NoError(t, r.redis.ConfigSet(t.Context(), "stop-writes-on-bgsave-error", "no").Err()) }
}

func (r *redisServer) tally(t *testing.T) (done, dead, failures int) {
	t.Helper()
	q, err := r.inspector.GetQueueInfo("default")
	require.NoError(t, err)
	tasks, err := r.inspector.ListCompletedTasks("default", asynq.PageSize(engineJobs))
	require.NoError(t, err)
	for _, task := range tasks {
		failures += task.Retried
	}
	return q.Completed, q.Archived, failures
}

func (r *redisServer) worker() worker { return worker{Engine: "asynq", Server: r.address} }

// asynq starts a worker of asynq.
func (w *worker) asynq(l *aimd.Limiter) (stop func(), err error) {
	cfg := asynq.Config{
		Concurrency: heldJobs / engineWorkers, LogLevel: asynq.ErrorLevel, DelayedTaskCheckInterval: amount(5*time.Second, 500*time.Millisecond),
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Second },
	}
	mux := asynq.NewServeMux()
	mux.Use(asynqlimit.Limit(&cfg, l))
	mux.HandleFunc("job", func(ctx context.Context, t *asynq.Task) error { return w.do(ctx, string(t.Payload())) })
	s := asynq.NewServer(asynq.RedisClientOpt{Addr: w.Server}, cfg)
	return s.Shutdown, s.Start(mux)
}

// A service that accepts nothing takes no worker from another queue, and its tasks lose no retry.
func TestAsynqOtherQueuesFindAWorker(t *testing.T) {
	beside(t)
	r := startRedis(t)
	l, err := aimd.New(aimd.Config{InitialWindow: 1, MaxWindow: 1})
	require.NoError(t, err)
	p, err := l.Acquire(t.Context())
	require.NoError(t, err)
	cfg := asynq.Config{
		Concurrency: 4, Queues: map[string]int{"stuck": 9, "free": 1}, LogLevel: asynq.FatalLevel,
		TaskCheckInterval: 50 * time.Millisecond, DelayedTaskCheckInterval: 500 * time.Millisecond,
	}
	limit, err := asynqlimit.LimitBy(&cfg, asynqlimit.Settings{Of: func(ctx context.Context, _ *asynq.Task) (*aimd.Limiter, error) {
		if queue, _ := asynq.GetQueueName(ctx); queue == "stuck" {
			return l, nil
		}
		return nil, nil
	}})
	require.NoError(t, err)
	c := asynq.NewClientFromRedisClient(r.redis)
	for _, queue := range []string{"stuck", "free"} {
		for range 20 {
			_, err := c.Enqueue(asynq.NewTask("job", nil), asynq.Queue(queue), asynq.MaxRetry(1))
			require.NoError(t, err)
		}
	}
	s := asynq.NewServer(asynq.RedisClientOpt{Addr: r.address}, cfg)
	require.NoError(t, s.Start(limit(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return nil }))))
	defer s.Shutdown()
	size := func(queue string) int {
		q, err := r.inspector.GetQueueInfo(queue)
		require.NoError(t, err)
		require.Zero(t, q.Archived)
		require.Zero(t, q.FailedTotal)
		return q.Size
	}
	eventually(t, func() bool { return size("free") == 0 }, "the other queue starves")
	require.Equal(t, 20, size("stuck"))
	p.End(nil)
	eventually(t, func() bool { return size("stuck") == 0 }, "handed back, and lost")
}
