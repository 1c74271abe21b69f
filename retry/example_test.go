package retry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
)

// busy is an answer of a service that has too much to do.
var busy = &httplimit.StatusError{StatusCode: 503, Status: "503 Slow Down"}

// Reading may be done twice, so it is tried again.
func ExampleDo() {
	ctx := retry.WithIdempotent(context.Background())
	err := retry.Do(ctx, nil, func(ctx context.Context) error {
		if n := attempt.Number(ctx); n < 3 {
			fmt.Println("attempt", n, "fails")
			return busy
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// attempt 1 fails
	// attempt 2 fails
	// <nil>
}

// The context says it for a single operation, Config.Idempotent for all of a policy.
func ExampleWithIdempotent() {
	fails := func(context.Context) error { return busy }
	policy, err := retry.New(retry.Config{Backoff: backoff.Exponential{Min: time.Millisecond}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	fmt.Println(retry.Do(ctx, policy, fails))
	fmt.Println(retry.Do(retry.WithIdempotent(ctx), policy, fails))
	// Output:
	// gave up after 1 attempt: aimd: not known to be idempotent; last error: httplimit: 503 Slow Down
	// gave up after 3 attempts: aimd: attempt limit reached; last error: httplimit: 503 Slow Down
}

func ExampleValue() {
	name, err := retry.Value(context.Background(), nil, func(context.Context) (string, error) {
		return strings.ToUpper("ok"), nil
	})
	fmt.Println(name, err)
	// Output: OK <nil>
}

// A policy for all that talk to one service, with a budget that they share. The limiter's Do and Each use
// the same.
func ExampleNew() {
	budget, err := retry.NewBudget(retry.BudgetConfig{Share: 0.1})
	if err != nil {
		panic(err)
	}
	policy, err := retry.New(retry.Config{
		Idempotent:  true,
		MaxAttempts: 5,
		Backoff:     backoff.Exponential{Min: time.Millisecond, Max: time.Second, Jitter: backoff.Full()},
		Guards:      []attempt.Guard{budget},
	})
	if err != nil {
		panic(err)
	}
	err = retry.Do(context.Background(), policy, func(context.Context) error { return busy })
	fmt.Println(err)

	lim, err := aimd.New(aimd.Config{Policy: policy})
	if err != nil {
		panic(err)
	}
	err = lim.Do(context.Background(), func(context.Context) error { return busy })
	fmt.Println(errors.Is(err, retry.ErrBudget))
	// Output:
	// gave up after 4 attempts: aimd: retry budget exhausted: 3 of 4 requests in 10s were retries, allowed are 10%; last error: httplimit: 503 Slow Down
	// true
}

// A budget for those who send by themselves.
func ExampleBudget() {
	budget, err := retry.NewBudget(retry.BudgetConfig{})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	for range 90 {
		_ = budget.Admit(ctx, 1) // first attempts always go
	}
	retries := 0
	for !errors.Is(budget.Admit(ctx, 2), retry.ErrBudget) {
		retries++
	}
	fmt.Println("retries with 90 first attempts:", retries)
	// Output: retries with 90 first attempts: 10
}
