// Command client is the thousand clients of "Exponential Backoff or how not to crash a server" (Smirnov 2014). Its
// flags and lines are as in the text's program, with -aimd beside them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/retry"
)

var (
	clients     = flag.Int("clients", 1000, "number of clients; each sends one request at a time")
	lambda      = flag.Float64("lambda", 10, "mean time from a client's request to its next, in seconds; distributed exponentially")
	timeout     = flag.Duration("timeout", 2*time.Second, "longest time for a request")
	url         = flag.String("url", "http://127.0.0.1:8070/api", "the address of the requests")
	report      = flag.Duration("report", 5*time.Second, "time from a line to the next")
	simple      = flag.Duration("simple-backoff-delay", 100*time.Millisecond, "time after which a failed request is repeated")
	exponential = flag.Bool("exponential-backoff", false, "repeat a failed request after a delay that grows")
	minDelay    = flag.Duration("min-delay", 100*time.Millisecond, "the first such delay")
	maxDelay    = flag.Duration("max-delay", 5*time.Minute, "the longest such delay, without its jitter")
	factor      = flag.Float64("factor", 2.71828, "factor by which each such delay is longer than the one before")
	jitter      = flag.Float64("jitter", 0.1, "standard deviation of such a delay, as a share of it")
	window      = flag.Bool("aimd", false, "all clients share one limiter, as of aimd.New; it repeats what fails")

	ok, failed, timedOut atomic.Int64
)

const usage = `client is many clients of server. Each sends a request, waits for the answer, and sends the next request after a random
time. A request fails if its status is 400 or more, or after -timeout; then the client repeats it until it succeeds.
Every -report it writes a line: the requests a second that were answered, failed, and timed out. Ctrl-C ends it.

  client                        # repeats after -simple-backoff-delay
  client -exponential-backoff   # the loop of the text, with the figures of its program; one dash or two
  client -aimd                  # as soon as the window of all clients has room

It differs from the text's program in two points. The first repetition comes after -min-delay, as in the text, not after
the time since the last request. The jitter is a share of the delay, as in the text, not 0.1 s.

`

// strategy does an operation: it repeats the attempt until that succeeds or the context ends.
func strategy() (func(context.Context, func(context.Context) error) error, error) {
	if *window {
		l, err := aimd.New(aimd.Config{Name: "clients"})
		if err != nil {
			return nil, err
		}
		return l.Do, nil
	}
	delays := backoff.Exponential{Min: *simple, Factor: 1}
	if *exponential {
		delays = backoff.Exponential{Min: *minDelay, Max: *maxDelay, Factor: *factor, Jitter: backoff.Normal(*jitter), Compound: true}
	}
	// "If the request fails, the client repeats the request", whatever it was.
	p, err := retry.New(retry.Config{Backoff: delays, MaxAttempts: -1, If: func(error) bool { return true }})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, attempt func(context.Context) error) error { return retry.Do(ctx, p, attempt) }, nil
}

// attempt sends a request, and counts what it came to.
func attempt(ctx context.Context, client *http.Client) error {
	bounded, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	err := send(bounded, client)
	var t net.Error
	switch {
	case err == nil:
		ok.Add(1)
	case ctx.Err() != nil: // the run is over
	case bounded.Err() != nil, errors.As(err, &t) && t.Timeout(): // a dial's may come a moment before
		timedOut.Add(1)
	default:
		failed.Add(1)
	}
	return err
}

func send(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, *url, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body) // so that its connection can serve again
	return errors.Join(httplimit.Check(resp), err)
}

func main() {
	log.SetFlags(0)
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if *clients < 1 || !(*lambda > 0) || *timeout < 1 || *report < 1 || flag.NArg() > 0 {
		log.Fatal("client: want numbers above 0, and no arguments; see -h")
	}
	do, err := strategy()
	if err != nil {
		log.Fatal("client: ", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A dial outlives its request. Without a bound many dials would use up the files.
	client := &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{Timeout: *timeout}).DialContext, MaxIdleConnsPerHost: *clients}}
	var all sync.WaitGroup
	for range *clients {
		all.Go(func() {
			for ctx.Err() == nil {
				// "Each client thread executes queries at intervals corresponding to an exponential distribution."
				select {
				case <-time.After(time.Duration(rand.ExpFloat64() * *lambda * float64(time.Second))):
					_ = do(ctx, func(ctx context.Context) error { return attempt(ctx, client) }) // it ends with the context
				case <-ctx.Done():
				}
			}
		})
	}
	lines := time.NewTicker(*report)
	for ctx.Err() == nil {
		select {
		case <-lines.C:
			rate := func(n *atomic.Int64) float64 { return float64(n.Swap(0)) / report.Seconds() }
			fmt.Printf("OK: %.2f req/sec, errors: %.2f req/sec, timedout: %.2f req/sec\n", rate(&ok), rate(&failed), rate(&timedOut))
		case <-ctx.Done():
		}
	}
	all.Wait()
}
