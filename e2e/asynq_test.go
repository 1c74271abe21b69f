package e2e

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	aimdasynq "github.com/aimd-go/aimd/contrib/asynq"
	"github.com/aimd-go/aimd/e2e/internal/program"
)

// redisServer is asynq on a redis-server.
type redisServer struct {
	address   string
	redis     *redis.Client
	inspector *asynq.Inspector
}

func startRedis(t *testing.T) *redisServer {
	t.Helper()
	r := &redisServer{address: program.Address(t)}
	_, port, _ := net.SplitHostPort(r.address)
	startProcess(t, server("TERM", program.Path(t, "redis-server", "redis-server"),
		"--bind", "127.0.0.1", "--port", port, "--dir", t.TempDir(), "--save", "")).listening(t, r.address)
	r.redis = redis.NewClient(&redis.Options{Addr: r.address})
	t.Cleanup(func() { _ = r.redis.Close() })
	r.inspector = asynq.NewInspectorFromRedisClient(r.redis)
	return r
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
	limit, err := aimdasynq.Limit(&cfg, aimdasynq.Settings{Limiter: l})
	if err != nil {
		return nil, err
	}
	mux := asynq.NewServeMux()
	mux.Use(limit)
	mux.HandleFunc("job", func(ctx context.Context, t *asynq.Task) error { return w.do(ctx, string(t.Payload())) })
	s := asynq.NewServer(asynq.RedisClientOpt{Addr: w.Server}, cfg)
	return s.Shutdown, s.Start(mux)
}
