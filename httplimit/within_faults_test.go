package httplimit_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// slotted is a service with slots: an answer takes 100 ms, a refusal 5 ms.
func slotted(slots int32, refused *atomic.Int32) base {
	busy := new(atomic.Int32)
	return func(req *http.Request) (*http.Response, error) {
		defer busy.Dec()
		if busy.Inc() > slots {
			time.Sleep(5 * time.Millisecond)
			refused.Inc()
			return answers(http.StatusServiceUnavailable, nil, text("busy"))(req)
		}
		time.Sleep(100 * time.Millisecond)
		return answers(http.StatusOK, nil, text("done"))(req)
	}
}

// Within Do or Each of the same limiter a client that tries again told the window of no refusal: 991 to 1354 of 1000 calls
// were refused, in 1.6 to 1.8 times the best time. Now at most 169 in 1.5, and with a client that does not, 75 in 1.5.
func TestARefusalWithinASlotIsHeard(t *testing.T) {
	const calls = 1000
	items := slices.Values(make([]int, calls))
	for name, run := range map[string]func(*aimd.Limiter, func(context.Context) error) error{
		"Do": func(l *aimd.Limiter, fn func(context.Context) error) error {
			var all sync.WaitGroup
			failed := make(chan error, calls)
			for range calls {
				all.Go(func() { failed <- l.Do(context.Background(), fn) })
			}
			all.Wait()
			close(failed)
			var errs []error
			for err := range failed {
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
		"Each": func(l *aimd.Limiter, fn func(context.Context) error) error {
			return aimd.Each(context.Background(), l, items, func(ctx context.Context, _ int) error { return fn(ctx) })
		},
	} {
		for _, slots := range []int32{10, 50} {
			synctest.Test(t, func(t *testing.T) {
				l, err := aimd.New(aimd.Config{})
				require.NoError(t, err)
				var refused, done atomic.Int32
				client := clientOn(slotted(slots, &refused), l)
				require.NoError(t, run(l, func(ctx context.Context) error {
					resp, err := client.Do(get(ctx, anyURL))
					if err != nil {
						return err
					}
					done.Inc()
					defer resp.Body.Close()
					return httplimit.Check(resp)
				}))
				require.EqualValues(t, calls, done.Load(), "no function runs twice")
				require.LessOrEqual(t, refused.Load(), int32(300), "%s, %d slots", name, slots)
				s := l.Snapshot()
				require.EqualValues(t, refused.Load(), s.Overloads, "the window hears of each")
				require.Zero(t, s.InFlight)
				require.Zero(t, s.Late)
			})
		}
	}
}

// Several requests under one slot, and one that outlives its function: no slot stays taken, and nobody waits for a second.
func TestManyRequestsWithinASlotLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := narrow(t, aimd.Config{})
		var refused atomic.Int32
		client := clientOn(slotted(1, &refused), l)
		var all sync.WaitGroup
		one := func(ctx context.Context) {
			if resp, err := client.Do(get(ctx, anyURL)); assert.NoError(t, err) {
				assert.Equal(t, http.StatusOK, resp.StatusCode)
				assert.NoError(t, resp.Body.Close())
			}
		}
		for range 20 {
			require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
				for range 3 {
					all.Go(func() { one(ctx) })
				}
				one(ctx)
				return nil
			}))
		}
		all.Wait()
		require.NotZero(t, refused.Load())
		s := l.Snapshot()
		require.Zero(t, s.InFlight)
		require.Zero(t, s.Late)
	})
}
