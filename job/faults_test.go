package job_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/job"
)

// tasks is the queue of an engine. Each task takes 100 ms and has a minute. For a second the service says that it is back in two.
type tasks struct {
	mu       sync.Mutex
	begin    time.Time
	left     int
	done     int
	failures int
	sent     int
}

func (q *tasks) lock(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	do()
}

func (q *tasks) take() (more bool) {
	q.lock(func() { more, q.left = q.left > 0, max(0, q.left-1) })
	return more
}

func (q *tasks) back() { q.lock(func() { q.left++ }) }

func (q *tasks) ended(err error) {
	if err == nil {
		q.lock(func() { q.done++ })
	} else {
		q.lock(func() { q.failures++ })
	}
}

func (q *tasks) work(context.Context) error {
	q.lock(func() { q.sent++ })
	time.Sleep(100 * time.Millisecond)
	if since := time.Since(q.begin); since > 3*time.Second && since < 4*time.Second {
		return refused("120")
	}
	return nil
}

// workers lets 16 workers work off 2000 tasks.
func workers(t *testing.T, worker func(*aimd.Limiter, *tasks)) *tasks {
	l := attempttest.Limiter(t, aimd.Config{})
	q := &tasks{begin: time.Now(), left: 2000}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() { worker(l, q) })
	}
	all.Wait()
	t.Logf("%d done, %d failed, %d attempts, in %v", q.done, q.failures, q.sent, time.Since(q.begin))
	require.Equal(t, 2000, q.done+q.failures)
	return q
}

// Tasks on their last retry stay in their worker. Each was told at once that the pause is longer than its deadline, the worker
// took the next one, and the whole queue was lost within seconds of one answer.
func TestAPauseDoesNotEmptyTheQueueOfTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desk := &job.Desk{}
		q := workers(t, func(l *aimd.Limiter, q *tasks) {
			for q.take() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				back, err := desk.Run(ctx, l, 30*time.Second, true, q.work)
				cancel()
				assert.False(t, back)
				q.ended(err)
			}
		})
		assert.LessOrEqual(t, q.failures, 3*16, "two minutes are two deadlines and a part of one")
	})
}

// A pool of one's own takes a slot first, and its task then: no task has a deadline that runs out in a queue.
func TestAPoolTakesItsSlotFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := workers(t, func(l *aimd.Limiter, q *tasks) { assert.NoError(t, poolWorker(t.Context(), l, q)) })
		assert.Zero(t, q.failures)
		assert.LessOrEqual(t, q.sent, 2100)
	})
}

func poolWorker(ctx context.Context, lim *aimd.Limiter, queue *tasks) error {
	for {
		slot, err := lim.Acquire(ctx) // the worker's context, which has no deadline
		if err != nil {
			return err
		}
		if !queue.take() {
			slot.End(context.Canceled) // nothing was sent
			return nil
		}
		err = within(ctx, time.Minute, queue.work) // the time of the task begins here
		if slot.End(err).Retry() {
			queue.back()
		} else {
			queue.ended(err)
		}
	}
}

func within(ctx context.Context, d time.Duration, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return work(ctx)
}

// A slot that comes as the patience ends. One job in two failed then, with "context canceled", and lost an attempt of its engine.
func TestASlotAsThePatienceEnds(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			l, d := newLimiter(t, aimd.Config{}), &job.Desk{}
			occupy(t, l, time.Second)
			back, err := d.Run(t.Context(), l, time.Second, false, nothing)
			require.Equal(t, back, err != nil, "done, or handed back: %v", err)
		})
	}
}
