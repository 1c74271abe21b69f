package aimd_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// one is one of them, by chance.
func one[T any](of ...T) T { return of[rand.IntN(len(of))] }

// boom panics once in n calls.
func boom(n int) {
	if rand.IntN(n) == 0 {
		panic("boom")
	}
}

// storm is a program that does everything at once with the limiters of a Keyed, and the limiters that it made.
type storm struct {
	keyed  *aimd.Keyed[int]
	rules  remote.Limiters
	guards []attempt.Guard

	mu   sync.Mutex
	made []*aimd.Limiter
}

func (s *storm) limiter(key int) (*aimd.Limiter, error) {
	l, err := aimd.New(aimd.Config{
		Law: []window.NewLaw{nil, aimd.Reno(0.9), aimd.Tahoe(0.5, 1)}[key%3], Guards: s.guards, QueueBound: 50, MaxAttempts: 5,
		PauseMin: time.Millisecond, PauseMax: 5 * time.Millisecond, MaxRetryAfter: 10 * time.Millisecond,
		Observer:   func(aimd.Event) { runtime.Gosched() },
		Classifier: func(err error) verdict.Verdict { boom(50); return verdict.Classify(err) },
	})
	if err != nil {
		return nil, err
	}
	_ = l.Restore(window.State{
		Cwnd: one(0, 1, 5, math.NaN(), math.Inf(1), -1, 1e308), Ssthresh: rand.Float64() * 100, Trip: time.Duration(rand.Int64()),
	}, time.Now())
	if rand.IntN(10) == 0 {
		_ = s.rules.Add(l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, l)
	return l, nil
}

// work is an attempt of an operation.
func work(ctx context.Context) error {
	attempt.Used(ctx, one(0, 5, math.NaN(), math.Inf(1), -1, 1e12))
	switch rand.IntN(11) {
	case 9, 10:
		return refusal(500)
	case 0, 1:
		return errors.New("rate limit exceeded")
	case 2:
		panic("boom")
	case 3:
		runtime.Goexit()
	case 4:
		time.Sleep(rand.N(time.Millisecond))
	case 5:
		return context.DeadlineExceeded
	case 6:
		<-ctx.Done()
	}
	return ctx.Err()
}

// once does one thing of the program's.
func (s *storm) once(t *testing.T) {
	l, err := s.keyed.For(rand.IntN(45))
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), rand.N(3*time.Millisecond))
	defer cancel()
	if rand.IntN(3) == 0 {
		ctx = aimd.WithAmount(ctx, one(1, 10, 1e6, 1e12, math.NaN(), -1, 1e308))
	}
	if rand.IntN(4) == 0 {
		ctx = aimd.Urgent(ctx)
	}
	switch k := rand.IntN(100); {
	case k < 30:
		_ = l.Do(ctx, work)
	case k < 45:
		fn := aimd.Backup(l, func(ctx context.Context, _ int) error { return work(ctx) })
		safely(func() { _ = aimd.Each(ctx, l, count(3), fn) })
	case k < 60:
		if p, err := l.Acquire(ctx); err == nil { // two end it at once
			var both sync.WaitGroup
			defer both.Wait()
			both.Go(func() { safely(func() { p.End(errors.New("x")) }) })
			p.End(one(nil, context.Canceled, aimd.Refused(errors.New("y"))))
		}
	case k < 65:
		if p, ok := l.TryAcquire(); ok {
			p.Done(window.Success)
		}
	case k < 80:
		if a, err := l.Begin(ctx); err == nil {
			defer a.Drop()
			a.Head(nil, answer.Quota{
				Name: "requests", Limit: float64(rand.IntN(1000)), Left: float64(rand.IntN(1000)), Reset: rand.N(20 * time.Millisecond),
				Bucket: one(true, false), Amounts: one(true, false), InFlight: one(true, false, false, false),
			})
			a.End(one(nil, errors.New("too many requests")))
		}
	case k < 88:
		_ = l.Reconfigure(func(c *aimd.Config) {
			boom(20)
			c.MaxWindow, c.MaxRate, c.MaxAmountRate = one(0., 1, 3, 50), one(0, 0, 1e6), one(0, 0, 1e12)
			c.QueueBound, c.MaxWait, c.QuotaReserve = rand.IntN(60), one(0, time.Millisecond), rand.Float64()
			c.Shadow, c.MaxFailures, c.AttemptTimeout = one(true, false, false), one(-1, 0, 1, 3), one(0, time.Millisecond)
		})
	case k < 90:
		_ = l.Snapshot().String()
		for range s.keyed.All() {
		}
	case k < 91:
		d := remote.Document{Version: 1}
		d.Window.Max = float64(1 + rand.IntN(40))
		_ = s.rules.Apply(d)
	case k < 92:
		l.Close()
	case k < 93:
		_ = l.Shutdown(ctx)
	default:
		for range aimd.Items(ctx, l, count(5), func(ctx context.Context, _ int) error { return work(ctx) }) {
		}
	}
}

// All at once: every door, settings and rules that change, states from elsewhere, guards, classifiers and functions that
// panic or exit, contexts that end, limiters that close and are evicted. In the end nothing is held in any limiter, and
// every guard has heard of every attempt.
func TestAStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var before, after guard
		between := &guard{refuse: func() error { boom(40); return nil }, ended: func() { boom(40) }}
		s := &storm{guards: []attempt.Guard{&before, between, &after}}
		var err error
		s.keyed, err = aimd.NewKeyed(s.limiter, aimd.KeyedConfig{Idle: 30 * time.Millisecond, Keys: 40})
		require.NoError(t, err)
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() {
				for range 50 {
					safely(func() { s.once(t) })
				}
			})
		}
		all.Wait()
		synctest.Wait()
		require.Greater(t, len(s.made), 60, "limiters that were made, some after others were evicted")
		var sum aimd.Snapshot
		for _, l := range s.made {
			now := l.Snapshot()
			assert.True(t, now.InFlight == 0 && now.Queued == 0, fmt.Sprint(now))
			sum.Successes, sum.Overloads, sum.Late = sum.Successes+now.Successes, sum.Overloads+now.Overloads, sum.Late+now.Late
			require.NoError(t, l.Shutdown(t.Context()))
		}
		require.NotZero(t, sum.Successes)
		require.NotZero(t, sum.Overloads)
		require.NotZero(t, sum.Late, "second ends")
		require.Zero(t, before.open.Load())
		require.Zero(t, after.open.Load())
	})
}
