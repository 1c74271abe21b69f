package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

// server is the service of "Exponential Backoff or how not to crash a server". It also works
// for clients that have given up. All numbers must be positive.
type server struct {
	every time.Duration // from a line to the next
	// limit is the number of requests at a time that are served without slowdown, in base each.
	limit int
	base  time.Duration
	// factor, from 1 on, and k are how the time grows from there; see delay.
	factor, k float64
	// recheck is the time after which a request computes its service time again.
	recheck time.Duration
	address string
	// backlog is the number of connections that the kernel keeps while the server is stopped; 0: as many
	// as the system allows.
	backlog int

	// concurrency is the number of requests that are being served, last the service time computed last.
	concurrency atomic.Int64
	last        atomic.Duration
	// answers counts all answers, abandoned those to clients that had given up.
	answers, abandoned atomic.Int64
}

func newServer() *server {
	return &server{
		every: time.Second, limit: 30, base: 100 * time.Millisecond, factor: 1.05, k: 15, recheck: 50 * time.Millisecond,
		address: "127.0.0.1:8070", backlog: 128,
	}
}

// ServerCommand is aimd server.
func ServerCommand() *cobra.Command {
	s := newServer()
	c := cli.Help(help, &cobra.Command{
		Use: "server", Short: "Be a service that slows down under load, for aimd client", Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	})
	f := cli.Flags(c)
	f.Var(value.Whole(&s.limit, 1, 1_000_000), "limit", "most requests at a time that are served without slowdown")
	f.Var(value.Decimal(&s.factor, 1, 1000), "factor", "factor by which K requests more make it slower")
	f.Var(value.Duration(&s.base, time.Millisecond, time.Hour), "baseDelay", "service time up to the limit")
	f.VarP(value.Decimal(&s.k, 0.001, 1_000_000), "K", "K", "number of requests more that make it slower by the factor")
	f.Var(value.Duration(&s.recheck, time.Millisecond, time.Minute), "recheck", "time after which a request computes its service time again; service times are whole multiples of it")
	f.Var(value.Address(&s.address), "address", "where to listen; 127.0.0.1 is this machine alone, 0.0.0.0 all its addresses")
	f.Var(value.Whole(&s.backlog, 0, 65_535), "backlog", "most connections that the kernel keeps while the server is stopped; 0: the system's maximum, 4096 on most")
	f.Var(value.Duration(&s.every, 100*time.Millisecond, time.Hour), "report", "time from a line to the next")
	return c
}

// longestDelay bounds the service time, which would overflow from some 7800 requests on. Our choice.
const longestDelay = 24 * time.Hour

// delay is the service time at that concurrency. The text:
//
//	"The server is responsible for minDelay (100 ms) until the number of simultaneous
//	connections exceeds concurrencyLimit (30), after which the response time
//	increases exponentially: minDelay * factor ^ ((concurrency - concurrencyLimit) / K)"
func (s *server) delay(concurrency int) time.Duration {
	more := max(0, float64(concurrency-s.limit))
	return time.Duration(min(float64(s.base)*math.Pow(s.factor, more/s.k), float64(longestDelay)))
}

// serve answers OK after the service time, which each look computes again. A request whose client has given
// up stays and counts like any other. The end of the context sends all away.
func (s *server) serve(ctx context.Context) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.concurrency.Inc()
		defer s.concurrency.Dec()
		began, look := time.Now(), time.NewTicker(s.recheck)
		defer look.Stop()
		for delay := s.recheck; time.Since(began) < delay; {
			select {
			case <-look.C:
				delay = s.delay(int(s.concurrency.Load()))
				s.last.Store(delay)
			case <-ctx.Done():
				http.Error(w, "closed", http.StatusServiceUnavailable)
				return
			}
		}
		if s.answers.Inc(); r.Context().Err() != nil {
			s.abandoned.Inc()
		}
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "OK") // the client may be gone
	}
}

// run serves until the context ends, and writes lines, and a summary at the end.
func (s *server) run(ctx context.Context, stdout, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := net.Listen("tcp", s.address)
	if err == nil && s.backlog > 0 {
		err = setBacklog(l, s.backlog)
	}
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(path, s.serve(ctx))
	h := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(stderr, "aimd server: ", 0)}
	failed := make(chan error, 1)
	go func() {
		failed <- h.Serve(l)
		cancel() // a server that has failed has no more lines
	}()
	fmt.Fprintf(stderr, "Listening at http://%s%s, Ctrl-C ends it.\n", l.Addr(), path)
	lines(ctx, stdout, s.every, s.line)
	_ = h.Close() // the listener is all that could fail to close
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		return served
	}
	_, err = fmt.Fprintf(stdout, "Served %d requests, %d of them for clients that had given up.\n", s.answers.Load(), s.abandoned.Load())
	return err
}

// line is like the text's program:
//
//	Jun 21 22:13:07.492: concurrency: 1040, last delay: 2.671444385s
func (s *server) line(at time.Time) string {
	return fmt.Sprintf("%s: concurrency: %4d, last delay: %s", at.Format(time.StampMilli), s.concurrency.Load(), s.last.Load())
}

// setBacklog makes the kernel keep at most n connections that were not accepted yet, in place of the most
// that the system allows.
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
