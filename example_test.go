package aimd_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// A worker pool against an API that answers 429 when it is too much.
func Example() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	defer api.Close()
	defer api.Client().CloseIdleConnections()
	ctx, client := context.Background(), api.Client()

	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	get := func(url string) error {
		return lim.Do(ctx, func(ctx context.Context) error { // in each worker, for each job
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			return httplimit.Check(resp) // 429, 503, Retry-After: Do waits, and tries again
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
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	upload := func(_ context.Context, name string) error {
		if name == "" {
			return errors.New("no name")
		}
		return nil
	}
	ctx, paths := context.Background(), []string{"a", "", "c"}
	err = aimd.Each(ctx, lim, slices.Values(paths), upload) // func(ctx context.Context, path string) error
	fmt.Println(err)
	// Output:
	// 1 of 3 items failed
	// : failed after 1 attempt: no name
}

// Acquire is for callers that drive their attempts themselves.
func ExampleLimiter_Acquire() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	permit, err := lim.Acquire(context.Background())
	if err != nil {
		log.Fatal(err) // the context ended, or the limiter is closed
	}
	// Send the request, then say how it went: exactly once.
	permit.End(nil)
	permit.End(nil) // no effect
	s := lim.Snapshot()
	fmt.Println(s.InFlight, s.Successes, s.Late)
	// Output: 0 1 1
}

// The error of Do tells the whole story.
func ExampleLimiter_Do() {
	lim, err := aimd.New(aimd.Config{MaxAttempts: 2})
	if err != nil {
		log.Fatal(err)
	}
	busy := &httplimit.StatusError{StatusCode: 503, Status: "503 Slow Down"}
	err = lim.Do(context.Background(), func(context.Context) error { return busy })
	fmt.Println(errors.Is(err, aimd.ErrAttempts), errors.Is(err, busy))

	var story *attempt.Error
	if errors.As(err, &story) {
		fmt.Println(story.Attempts, "attempts")
	}
	// Output:
	// true true
	// 2 attempts
}

// An operation says what it costs: here tokens, of which a contract allows 200 000 a minute. complete is the program's
// call of a model, and returns the tokens that it used.
func ExampleWithAmount() {
	lim, err := aimd.New(aimd.Config{MaxAmountRate: 200_000.0 / 60}) // 200 000 tokens a minute
	if err != nil {
		log.Fatal(err)
	}
	complete := func(context.Context) (tokens float64, err error) { return 2900, nil }
	ctx := aimd.WithAmount(context.Background(), 3000)
	err = lim.Do(ctx, func(ctx context.Context) error {
		used, err := complete(ctx)
		attempt.Used(ctx, used) // tokens, as the answer reports them
		return err
	})
	fmt.Println(err)

	err = lim.Do(aimd.WithAmount(context.Background(), -1), func(context.Context) error { return nil })
	fmt.Println(err)
	// Output:
	// <nil>
	// gave up before the first attempt: aimd: amount: -1 is not allowed, want a number from 1 to 1000000000000
}

// A law of your own: half as careful as Reno at a cut, and half as bold.
func ExampleNew() {
	lim, err := aimd.New(aimd.Config{Law: newGentle, InitialWindow: 10})
	if err != nil {
		log.Fatal(err)
	}
	permit, _ := lim.TryAcquire()
	permit.End(aimd.Refused(errors.New("busy")))
	fmt.Println(lim.Snapshot().Cwnd)
	// Output: 9.5
}

// A classifier for errors of your own, in front of the one for all others.
func ExampleConfig_classifier() {
	errBusy := errors.New("tenant is busy")
	mine := func(err error) verdict.Verdict {
		if errors.Is(err, errBusy) {
			return verdict.Verdict{Meaning: answer.Refused}
		}
		return verdict.Verdict{} // not mine: ask the next
	}
	config := aimd.Config{Classifier: verdict.FirstOf(mine, verdict.Classify)}
	classify := config.Classifier
	fmt.Println(classify(errBusy).Outcome(), classify(context.DeadlineExceeded).Outcome())
	// Output: overload timeout
}

// A page that shows the limiter at work, and its decisions in the log.
func Example_watched() {
	mux := http.NewServeMux()

	lim, err := aimd.New(aimd.Config{Name: "photos", Observer: aimd.Log(slog.Default(), 10)})
	if err != nil {
		log.Fatal(err)
	}
	mux.Handle("/debug/aimd/", live.Handler(live.Of(lim)))
	fmt.Println(lim.Snapshot().Name)
	// Output: photos
}

// What was learned outlives a restart. The file is written each minute, so that it outlives a kill too.
func ExampleConfig_restore() {
	dir, err := os.MkdirTemp("", "aimd")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "photos.json")
	save := func(lim *aimd.Limiter) error {
		data, err := json.Marshal(lim.Snapshot())
		if err = cmp.Or(err, os.WriteFile(file+".new", data, 0o600)); err != nil {
			return err
		}
		return os.Rename(file+".new", file) // whole, whenever the program is killed
	}
	start := func() (*aimd.Limiter, error) {
		lim, err := aimd.New(aimd.Config{})
		if err != nil {
			return nil, err
		}
		data, _ := os.ReadFile(file) // none at the first start
		var before aimd.Snapshot
		_ = json.Unmarshal(data, &before)
		return lim, lim.Restore(before.State, before.At)
	}

	before, err := aimd.New(aimd.Config{InitialWindow: 48})
	if err != nil {
		log.Fatal(err)
	}
	if err := save(before); err != nil {
		log.Fatal(err)
	}
	lim, err := start()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(lim.Snapshot().Cwnd)
	// Output: 48
}

// New settings while it works: nothing in flight or waiting is lost.
// Look at what a limiter would hold, and then let it.
func ExampleConfig_shadow() {
	lim, err := aimd.New(aimd.Config{Shadow: true, Observer: aimd.Log(slog.Default(), 10)})
	if err != nil {
		log.Fatal(err)
	}
	err = lim.Do(context.Background(), func(context.Context) error { return nil }) // goes at once
	fmt.Println(lim.Snapshot().Shadow, err)

	err = lim.Reconfigure(func(c *aimd.Config) { c.Shadow = false })
	fmt.Println(err)
	// Output:
	// would have held 0 of 1 for 0s each; refused: 0 of those, 0 of the others <nil>
	// <nil>
}

func ExampleLimiter_Reconfigure() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}

	err = lim.Reconfigure(func(c *aimd.Config) { c.MaxWindow = 8 })
	fmt.Println(err, lim.Snapshot().Cwnd)
	// Output: <nil> 8
}

// newGentle and gentle are a law from outside, for ExampleNew.
func newGentle(window.Settings) window.Law { return gentle{} }

type gentle struct{}

func (gentle) Answered(_ time.Duration, s window.State, a window.End) window.State {
	switch {
	case a.Outcome.Accepted():
		s.Cwnd += (s.Grown(a.Flying).Cwnd - s.Cwnd) / 2
	case a.Outcome.Overloaded() && !a.Ignored:
		s.Cwnd *= 0.95
		s.Ssthresh = s.Cwnd
	}
	return s
}

func (gentle) Timed() bool { return false }

// A limiter for each bucket, since each has a limit of its own, let go of when nobody asked for it for a while.
// httplimit.PerHost is the same for hosts.
func ExampleNewKeyed() {
	buckets, err := aimd.NewKeyed(func(bucket string) (*aimd.Limiter, error) {
		fmt.Println("a limiter for", bucket)
		return aimd.New(aimd.Config{})
	}, aimd.KeyedConfig{Idle: time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	for _, bucket := range []string{"photos", "backups", "photos"} {
		lim, err := buckets.For(bucket)
		if err != nil {
			log.Fatal(err)
		}
		_ = lim.Do(context.Background(), func(context.Context) error { return nil })
	}
	// Output:
	// a limiter for photos
	// a limiter for backups
}

// A limiter in expvar, which serves it below /debug/vars.
func ExampleLimiter_Snapshot() {
	lim, err := aimd.New(aimd.Config{Name: "photos"})
	if err != nil {
		log.Fatal(err)
	}
	expvar.Publish("photos", expvar.Func(func() any { return lim.Snapshot() }))

	var now aimd.Snapshot
	err = json.Unmarshal([]byte(expvar.Get("photos").String()), &now) // at /debug/vars
	fmt.Println(now, err)
	// Output: cwnd=20.0 ssthresh=1048576.0 in-flight=0 queued=0 success=0 overload=0 timeout=0 neutral=0 client-error=0 cuts=0 pauses=0 late=0 <nil>
}

// Cuts and pauses in the log, at most ten lines a second.
func ExampleLog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "rtt" { // they differ from run to run
			return slog.Attr{}
		}
		return a
	}}))
	lim, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5), Name: "photos", Observer: aimd.Log(logger, 10)})
	if err != nil {
		log.Fatal(err)
	}
	p, err := lim.Acquire(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	p.End(aimd.Refused(errors.New("busy")))
	// Output: level=INFO msg="cut: first refusal of a burst, 20 -> 10" limiter=photos kind=cut before=20 cwnd=10 ssthresh=10 in_flight=0 queued=0 outcome=overload
}

func ExampleDo() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	page, err := aimd.Do(context.Background(), lim, func(context.Context) (string, error) {
		return "<html>", nil // a request
	})
	fmt.Println(page, err)
	// Output: <html> <nil>
}

func ExampleMap() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	length := func(_ context.Context, url string) (int, error) { return len(url), nil } // a request
	for r, err := range aimd.Map(context.Background(), lim, slices.Values([]string{"https://example.com/a"}), length) {
		fmt.Println(r.Item, r.Value, err)
	}
	// Output: https://example.com/a 21 <nil>
}
