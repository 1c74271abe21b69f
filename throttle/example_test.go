package throttle_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/throttle"
	"github.com/aimd-go/aimd/window"
)

// Do is for programs with neither a limiter nor a retry policy.
func ExampleThrottle_Do() {
	th, err := throttle.New(throttle.Config{})
	if err != nil {
		panic(err)
	}
	refused := &httplimit.StatusError{StatusCode: 503}
	sent := 0
	for range 1000 {
		err := th.Do(context.Background(), func(context.Context) error {
			sent++
			return refused
		})
		if !errors.Is(err, throttle.ErrThrottled) && !errors.Is(err, refused) {
			panic(err)
		}
	}
	fmt.Println("of 1000 few are sent:", sent < 100)
	// Output: of 1000 few are sent: true
}

// In a limiter it is a guard: of Do and Each, and of the integrations.
func ExampleNew() {
	th, err := throttle.New(throttle.Config{K: 1.5})
	if err != nil {
		panic(err)
	}
	lim, err := aimd.New(aimd.Config{Guards: []attempt.Guard{th}})
	if err != nil {
		panic(err)
	}
	err = lim.Do(context.Background(), func(context.Context) error { return nil })
	requests, accepts, rejection := th.Counts(tag.Critical)
	fmt.Println(err, requests, accepts, rejection)
	// Output: <nil> 1 1 0
}

// Admit and Ended are for programs that send by themselves.
func ExampleThrottle_Admit() {
	th, err := throttle.New(throttle.Config{})
	if err != nil {
		panic(err)
	}
	ctx := tag.WithCriticality(context.Background(), tag.Sheddable)
	rejected := 0
	for range 1000 {
		err := th.Admit(ctx, 1)
		if errors.Is(err, throttle.ErrThrottled) {
			rejected++ // nothing is sent
			continue
		}
		// Send the request; here all of them are refused.
		th.Ended(ctx, window.Overload)
	}
	fmt.Println("most are rejected:", rejected > 900)
	fmt.Println("interactive requests go:", th.Admit(context.Background(), 1) == nil)
	// Output:
	// most are rejected: true
	// interactive requests go: true
}
