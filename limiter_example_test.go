package aimd_test

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/window"
)

// busy is an answer of a service that has too much to do.
var busy = status{code: 503}

func ExampleNew_rules() {
	lim, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5), Rules: aimd.Rules{QueueBound: 100, MaxAttempts: 3}})
	if err != nil {
		panic(err)
	}
	err = lim.Do(context.Background(), func(context.Context) error { return busy })
	fmt.Println(err)
	// Output: gave up after 3 attempts: attempt limit reached; last error: 503 Service Unavailable
}

// A limiter for each bucket, since each has a limit of its own.
func ExampleNewKeyed() {
	buckets, err := aimd.NewKeyed(func(bucket string) (*aimd.Limiter, error) {
		fmt.Println("a limiter for", bucket)
		return aimd.New(aimd.Config{})
	}, aimd.KeyedConfig{Idle: time.Hour})
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

// A limiter in expvar, which serves it below /debug/vars.
func ExampleLimiter_Snapshot() {
	lim, err := aimd.New(aimd.Config{Name: "photos"})
	if err != nil {
		panic(err)
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
		panic(err)
	}
	p, err := lim.Acquire(context.Background())
	if err != nil {
		panic(err)
	}
	p.Done(window.Overload)
	// Output: level=INFO msg="cut: first refusal of a burst, 20 -> 10" limiter=photos kind=cut before=20 cwnd=10 ssthresh=10 in_flight=0 queued=0 outcome=overload
}

func ExampleDo() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		panic(err)
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
		panic(err)
	}
	length := func(_ context.Context, url string) (int, error) { return len(url), nil } // a request
	for r, err := range aimd.Map(context.Background(), lim, slices.Values([]string{"https://example.com/a"}), length) {
		fmt.Println(r.Item, r.Value, err)
	}
	// Output: https://example.com/a 21 <nil>
}
