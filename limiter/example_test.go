package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
)

// busy is an answer of a service that has too much to do.
var busy = status{code: 503}

func ExampleNew() {
	lim, err := limiter.New(aimd.Reno, limiter.Config{
		Settings:    limiter.Settings{QueueBound: 100},
		MaxAttempts: 3,
	})
	if err != nil {
		panic(err)
	}
	err = lim.Do(context.Background(), func(context.Context) error { return busy })
	fmt.Println(err)
	// Output: gave up after 3 attempts: limiter: attempt limit reached; last error: 503 Service Unavailable
}

// A limiter for each bucket, since each has a limit of its own.
func ExampleNewKeyed() {
	buckets, err := limiter.NewKeyed(func(bucket string) (*limiter.Limiter, error) {
		fmt.Println("a limiter for", bucket)
		return aimd.NewReno()
	}, limiter.KeyedConfig{Idle: time.Hour})
	if err != nil {
		panic(err)
	}
	for _, bucket := range []string{"photos", "backups", "photos"} {
		lim, err := buckets.For(bucket)
		if err != nil {
			panic(err)
		}
		_ = lim.Do(context.Background(), func(context.Context) error { return nil })
	}
	// Output:
	// a limiter for photos
	// a limiter for backups
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
func (p *purse) Ended(_ context.Context, o limiter.Outcome) {
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

func (once) Decide(_ context.Context, f limiter.Failure) limiter.Decision {
	return limiter.Decision{Retry: f.Attempt == 1, Delay: time.Millisecond, Reason: limiter.ErrAttempts}
}

// Operations without a limiter, for a client of one's own.
func ExampleLoop() {
	loop := limiter.Loop{Policy: once{}}
	err := loop.Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("attempt", limiter.AttemptNumber(ctx))
		return busy
	})
	fmt.Println(err)
	// Output:
	// attempt 1
	// attempt 2
	// gave up after 2 attempts: limiter: attempt limit reached; last error: 503 Service Unavailable
}
