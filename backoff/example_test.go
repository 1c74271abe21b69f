package backoff_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd/backoff"
)

// show prints the delays of an operation that fails and fails; the random source is fixed here only so
// that the output is.
func show(b backoff.Backoff, retries int) {
	r := rand.New(rand.NewPCG(1, 2))
	var s backoff.State
	for range retries {
		s.Retry++
		d, ok := b.Delay(s, r)
		if !ok {
			fmt.Println("no more")
			return
		}
		fmt.Print(d.Round(time.Millisecond), " ")
		s.Last = d
	}
	fmt.Println("...")
}

func ExampleExponential() {
	show(backoff.Exponential{}, 10)
	show(backoff.Exponential{Min: 50 * time.Millisecond, Max: time.Second, Jitter: backoff.Full()}, 8)
	// Output:
	// 100ms 200ms 400ms 800ms 1.6s 3.2s 6.4s 12.8s 25.6s 30s ...
	// 34ms 46ms 102ms 172ms 638ms 388ms 819ms 338ms ...
}

// A published setting of each text that has one.
func ExampleExponential_texts() {
	show(backoff.Exponential{Min: 100 * time.Millisecond, Max: 10 * time.Minute, Factor: 2.7, Jitter: backoff.Normal(0.1), Compound: true}, 8) // [Crash], blue
	show(backoff.Exponential{Min: time.Second, Max: 10 * time.Second, LastTry: true}, 100)                                                     // [Clojure]: (exponential-backoff 1000 2 10000 ...)
	// [SafeClients]: "Retry with exponential back-off and jitter; retries capped".
	show(backoff.Exponential{Min: 10 * time.Second, Max: 300*time.Second + 1, Jitter: backoff.Proportional(0.5), LastTry: true}, 100)
	// Output:
	// 100ms 280ms 762ms 2.099s 5.031s 13.038s 24.342s 1m18.424s ...
	// 1s 2s 4s 8s no more
	// 11.765s 19.228s 40.342s 1m14.383s 3m27.648s no more
}

func ExampleCheck() {
	fmt.Println(backoff.Check(backoff.Exponential{Factor: 0.5}))
	// Output: Factor: 0.5 is not allowed, want a number from 1 to 1000
}

func ExampleJitter_UnmarshalText() {
	var j backoff.Jitter
	fmt.Println(j.UnmarshalText([]byte("proportional:0.5")), j)
	fmt.Println(j.UnmarshalText([]byte("proportional")))
	// Output:
	// <nil> proportional:0.5
	// Jitter: "proportional" is not allowed, want none, full, equal, proportional:J, normal:J or uniform:LO:HI
}

func ExampleNewPlan() {
	p, err := backoff.NewPlan(backoff.Demand{Clients: 1000, Capacity: 200, Recovery: 10 * time.Second})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("possible:", p.Possible)
	fmt.Printf("M = %v: %g requests per second while the service is away\n", p.Max, p.Rate)
	fmt.Println("the last client is back within", p.Max)
	// Output:
	// possible: true
	// M = 5s: 200 requests per second while the service is away
	// the last client is back within 5s
}
