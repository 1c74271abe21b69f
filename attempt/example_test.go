package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

// busy is an answer of a service that has too much to do.
var busy = status{code: 503}

// An integration: what is done around each call of a client.
func Example() {
	lim, err := aimd.NewReno()
	if err != nil {
		panic(err)
	}
	call := func(ctx context.Context, fn func(context.Context) error) error {
		a, err := lim.Begin(ctx, attempt.Number(ctx))
		if err != nil {
			return err // nothing was sent
		}
		defer a.Drop() // a panic leaves nothing behind
		err = fn(a.Context())
		a.End(err)
		return err
	}
	fmt.Println(call(context.Background(), func(context.Context) error { return nil }))
	fmt.Println(call(context.Background(), func(context.Context) error { return busy }))
	s := lim.Snapshot()
	fmt.Println(s.Successes, s.Overloads, s.InFlight)
	// Output:
	// <nil>
	// 503 Service Unavailable
	// 1 1 0
}

// purse is a guard: every attempt costs, and when nothing is left none is made.
type purse struct{ coins atomic.Int64 }

func (p *purse) Admit(context.Context, int) error {
	if p.coins.Add(-1) < 0 {
		p.coins.Add(1)
		return errors.New("the purse is empty")
	}
	return nil
}

// Ended gives back what was paid for nothing.
func (p *purse) Ended(_ context.Context, o window.Outcome) {
	if !o.Valid() {
		p.coins.Add(1)
	}
}

func ExampleGuard() {
	var p purse
	p.coins.Store(2)
	lim, err := aimd.NewReno(aimd.WithGuard(&p))
	if err != nil {
		panic(err)
	}
	err = lim.Do(context.Background(), func(context.Context) error { return busy })
	fmt.Println(err)
	// Output: gave up after 2 attempts: the purse is empty; last error: 503 Service Unavailable
}

// once is a policy: one retry, a millisecond later, of whatever failed.
type once struct{}

func (once) Decide(_ context.Context, f attempt.Failure) attempt.Decision {
	return attempt.Decision{Retry: f.Attempt == 1, Delay: time.Millisecond, Reason: attempt.ErrAttempts}
}

// Operations without a limiter, for a client of one's own.
func ExampleRunner() {
	runner := &attempt.Runner{Policy: once{}}
	err := runner.Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("attempt", attempt.Number(ctx))
		return busy
	})
	fmt.Println(err)
	// Output:
	// attempt 1
	// attempt 2
	// gave up after 2 attempts: attempt limit reached; last error: 503 Service Unavailable
}
