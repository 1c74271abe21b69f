// Command server is the service of "Exponential Backoff or how not to crash a server" (Smirnov 2014), which its
// clients crash. Its flags and lines are as in the text's program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	limit     = flag.Int("limit", 30, "requests at a time that are served without slowdown")
	factor    = flag.Float64("factor", 1.05, "factor by which K requests more make the service slower")
	k         = flag.Float64("K", 15, "number of requests more that make the service slower by the factor")
	baseDelay = flag.Duration("baseDelay", 100*time.Millisecond, "service time up to the limit")
	recheck   = flag.Duration("recheck", 50*time.Millisecond, "time after which a request computes its service time again")
	address   = flag.String("address", "127.0.0.1:8070", "where to listen")
	backlog   = flag.Int("backlog", 128, "connections that the kernel keeps while the server is stopped; 0: as many as the system allows")
	report    = flag.Duration("report", time.Second, "time from a line to the next")

	concurrency  atomic.Int64 // requests that are being served
	last         atomic.Int64 // the service time computed last, in ns
	served, late atomic.Int64 // late: those whose client had given up
)

const usage = `server answers GET /api with OK, and is as slow as a service with a database. Up to -limit requests at a time take
-baseDelay each. With c requests at a time, if c is larger, they take baseDelay * factor^((c - limit) / K). A request
whose client has given up stays until it is served, and slows down the others. Ctrl-C ends it with a summary.

Try this in two terminals:
  1. Start server, and client. The server answers some 100 requests a second, about 10 at a time.
  2. Stop the server for half a minute: Ctrl-Z, or kill -STOP PID. The requests time out; the clients repeat them.
  3. Continue it: fg, or kill -CONT PID. All requests come at once, so all answers are slow. The clients give up,
     repeat their requests, and make the server slower. It does not recover.
  4. Start both again, now with client -exponential-backoff, then with client -aimd: the server recovers.
  5. Do the same with server -backlog 4096, the default of today's systems: the kernel keeps all connections of the
     stopped server. After exponential backoff these are too many. A window has sent few.

`

// delay is the service time with so many requests at a time: "minDelay (100 ms) until the number of simultaneous
// connections exceeds concurrencyLimit (30), after which the response time increases exponentially". It grows to a
// day at most, since it would overflow from some 7800 requests on.
func delay(c int64) time.Duration {
	more := max(0, float64(c)-float64(*limit))
	return time.Duration(min(float64(*baseDelay)*math.Pow(*factor, more / *k), float64(24*time.Hour)))
}

func serve(w http.ResponseWriter, r *http.Request) {
	concurrency.Add(1)
	defer concurrency.Add(-1)
	began, look := time.Now(), time.NewTicker(*recheck)
	defer look.Stop()
	for wait := *recheck; time.Since(began) < wait; last.Store(int64(wait)) {
		<-look.C
		wait = delay(concurrency.Load())
	}
	if served.Add(1); r.Context().Err() != nil {
		late.Add(1)
	}
	_, _ = io.WriteString(w, "OK") // the client may be gone
}

func main() {
	log.SetFlags(0)
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if *limit < 1 || !(*factor >= 1) || !(*k > 0) || *baseDelay < 1 || *recheck < 1 || *report < 1 || *backlog < 0 || flag.NArg() > 0 {
		log.Fatal("server: want a factor of 1 or more, a backlog of 0 or more, all other numbers above 0, and no arguments; see -h")
	}
	l, err := net.Listen("tcp", *address)
	if err == nil && *backlog > 0 {
		err = setBacklog(l, *backlog)
	}
	if err != nil {
		log.Fatal("server: ", err)
	}
	log.Printf("Listening at http://%s/api, Ctrl-C ends it.", l.Addr())
	http.HandleFunc("/api", serve)
	go func() { log.Fatal(http.Serve(l, nil)) }()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for lines := time.NewTicker(*report); ; {
		select {
		case at := <-lines.C:
			fmt.Printf("%s: concurrency: %4d, last delay: %s\n", at.Format(time.StampMilli), concurrency.Load(), time.Duration(last.Load()))
		case <-ctx.Done():
			fmt.Printf("Served %d requests, %d of them for clients that had given up.\n", served.Load(), late.Load())
			return
		}
	}
}

// setBacklog makes the kernel keep at most n connections that were not accepted yet.
func setBacklog(l net.Listener, n int) error {
	c, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = c.Control(func(fd uintptr) { failed = listen(syscall.Listen, fd, n) })
	return errors.Join(err, failed)
}

// listen calls syscall.Listen, whose descriptor has a type for each system.
func listen[Descriptor ~int | ~uintptr](f func(Descriptor, int) error, fd uintptr, n int) error {
	return f(Descriptor(fd), n)
}
