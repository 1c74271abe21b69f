package aimd_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
)

// A worker pool against an API that answers 429 when it is too much.
func Example() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	defer api.Close()
	defer api.Client().CloseIdleConnections()
	ctx, client := context.Background(), api.Client()

	lim, err := aimd.New()
	if err != nil {
		log.Fatal(err)
	}
	get := func(url string) error {
		return lim.Do(ctx, func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			return httplimit.Check(resp) // 429, 503, Retry-After...: Do waits and tries again
		})
	}

	jobs := make(chan string)
	var pool sync.WaitGroup
	for range 64 { // more than the API takes: the window decides
		pool.Go(func() {
			for url := range jobs {
				if err := get(url); err != nil {
					log.Printf("%s: %v", url, err)
				}
			}
		})
	}
	for i := range 100 {
		jobs <- fmt.Sprintf("%s/%d", api.URL, i)
	}
	close(jobs)
	pool.Wait()
	fmt.Println(lim.Snapshot().Successes)
	// Output: 100
}

// Bulk work from an iterator, as many items at a time as the window admits.
func ExampleEach() {
	lim, err := aimd.New()
	if err != nil {
		log.Fatal(err)
	}
	upload := func(_ context.Context, name string) error {
		if name == "" {
			return errors.New("no name")
		}
		return nil
	}
	done := 0
	for name, err := range aimd.Each(context.Background(), lim, slices.Values([]string{"a", "", "c"}), upload) {
		if err != nil {
			fmt.Printf("%q: %v\n", name, err)
			continue
		}
		done++
	}
	fmt.Println(done, "done")
	// Output:
	// "": failed after 1 attempt: no name
	// 2 done
}

// Acquire is for callers that drive their attempts themselves.
func ExampleLimiter_Acquire() {
	lim, err := aimd.New()
	if err != nil {
		log.Fatal(err)
	}
	permit, err := lim.Acquire(context.Background())
	if err != nil {
		log.Fatal(err) // the context ended, or the limiter is closed
	}
	// Send the request, then say how it went: exactly once.
	fmt.Println(permit.Done(aimd.Success))
	fmt.Println(permit.Done(aimd.Success))
	fmt.Println(lim.Snapshot().InFlight)
	// Output:
	// <nil>
	// limiter: permit released already
	// 0
}

// The error of Do tells the whole story.
func ExampleLimiter_Do() {
	lim, err := aimd.New(aimd.WithMaxAttempts(2))
	if err != nil {
		log.Fatal(err)
	}
	busy := &httplimit.StatusError{StatusCode: 503, Status: "503 Slow Down"}
	err = lim.Do(context.Background(), func(context.Context) error { return busy })
	fmt.Println(errors.Is(err, aimd.ErrAttempts), errors.Is(err, busy))

	var story *aimd.Error
	if errors.As(err, &story) {
		fmt.Println(story.Attempts, "attempts")
	}
	// Output:
	// true true
	// 2 attempts
}

// A law of your own: half as careful as Reno at a cut, and half as bold.
func ExampleNew() {
	lim, err := aimd.New(aimd.WithLaw(newGentle), aimd.WithInitialWindow(10))
	if err != nil {
		log.Fatal(err)
	}
	permit, _ := lim.TryAcquire()
	_ = permit.Done(aimd.Overload)
	fmt.Println(lim.Snapshot().Cwnd)
	// Output: 9.5
}

// An observer sees every event with its reason.
func ExampleWithObserver() {
	lim, err := aimd.NewReno(aimd.WithObserver(func(e aimd.Event) {
		fmt.Printf("%v: cwnd %.0f -> %.0f\n", e.Kind, e.Before, e.Window.Cwnd)
	}))
	if err != nil {
		log.Fatal(err)
	}
	permit, _ := lim.TryAcquire()
	_ = permit.Done(aimd.Overload)
	// Output: cut: cwnd 20 -> 10
}

// Errors of your own can be told apart, beside those that are known.
func ExampleWithClassifier() {
	errBusy := errors.New("tenant is busy")
	mine := func(err error) attempt.Verdict {
		if errors.Is(err, errBusy) {
			return attempt.Verdict{Outcome: aimd.Overload, Retry: true}
		}
		return attempt.Verdict{} // not mine: ask the next
	}
	lim, err := aimd.New(aimd.WithClassifier(attempt.FirstOf(mine, attempt.Classify)))
	if err != nil {
		log.Fatal(err)
	}
	classify := lim.Config().Classifier
	fmt.Println(classify(errBusy).Outcome, classify(context.DeadlineExceeded).Outcome)
	// Output: overload timeout
}
