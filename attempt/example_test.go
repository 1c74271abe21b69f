package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// busy is an answer of a service that has too much to do.
var busy = status{HTTP: 503}

// An integration: what is done around each call of a client.
func Example() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		panic(err)
	}
	call := func(ctx context.Context, fn func(context.Context) error) error {
		a, err := lim.Begin(ctx)
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
	lim, err := aimd.New(aimd.Config{Guards: []attempt.Guard{&p}})
	if err != nil {
		panic(err)
	}
	err = lim.Do(context.Background(), func(context.Context) error { return busy })
	fmt.Println(err)
	// Output: gave up after 2 attempts: the purse is empty; last error: 503 Service Unavailable
}

// lineBusy is the error of a client of telephones: it knows what it means, and for how long to wait.
type lineBusy struct{ wait time.Duration }

func (e lineBusy) Error() string { return "the line is busy" }

func (e lineBusy) Facts() verdict.Facts {
	return verdict.Facts{Verdict: verdict.Verdict{Meaning: answer.Refused, Wait: e.wait}, Reach: verdict.Answered}
}

func ExampleFactual() {
	v := verdict.Classify(fmt.Errorf("dial: %w", lineBusy{time.Minute}))
	fmt.Println(v.Meaning, v.Wait, v.Outcome(), v.Retry())
	// Output: refused 1m0s overload true
}

// An integration of another protocol says what an answer reports of the service's quotas: here one that is used
// up for an hour. Callers with less time hear of it at once.
func ExampleAttempt_Head() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		panic(err)
	}
	call := func(ctx context.Context) error {
		a, err := lim.Begin(ctx)
		if err != nil {
			return err // nothing was sent
		}
		defer a.Drop()
		a.Head(nil, answer.Quota{Name: "calls", Limit: 1000, Left: 0, Reset: time.Hour}) // the answer's head has come
		a.End(nil)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	fmt.Println(call(ctx))
	fmt.Println(errors.Is(call(ctx), context.DeadlineExceeded))
	q := lim.Snapshot().Quotas[0]
	fmt.Println(q.Name, q.Left, q.Limit, time.Until(q.UsedUpUntil) > time.Hour)
	// Output:
	// <nil>
	// true
	// calls 0 1000 true
}
