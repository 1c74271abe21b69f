package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Path is where the service is.
const Path = "/api"

// Options are what a run needs beside the service's behaviour.
type Options struct {
	// Address is where to listen, as net.Listen has it.
	Address string
	// Backlog is how many connections the kernel keeps while the server does not
	// accept them, as when it is stopped; 0: as many as the system allows.
	Backlog int
	// Report is how often a line is written.
	Report time.Duration
	// JSON: the lines are JSON objects.
	JSON bool
	// Stdout gets the lines, Stderr all else.
	Stdout, Stderr io.Writer
}

// Run serves until the context ends, writes a line from time to time, and a
// summary in the end. The error is that of listening.
func Run(ctx context.Context, c Config, o Options) error {
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		return err
	}
	if o.Backlog > 0 {
		if err := setBacklog(l, o.Backlog); err != nil {
			_ = l.Close() // nothing was written to it
			return err
		}
	}
	service := New(c)
	mux := http.NewServeMux()
	mux.Handle(Path, service)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(&refusals{w: o.Stderr}, "aimd server: ", 0)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	fmt.Fprintf(o.Stderr, "Listening at http://%s%s, Ctrl-C ends it.\n", l.Addr(), Path)

	began := time.Now()
	err = report(ctx, service, o, failed)
	counts := service.Counts() // before those being served are sent away
	service.Close()
	_ = server.Close() // the listener is all that could fail to close
	return errors.Join(err, o.summary(counts, time.Since(began)))
}

// report writes the lines until the context ends, or the server fails.
func report(ctx context.Context, s *Service, o Options, failed <-chan error) error {
	t := time.NewTicker(o.Report)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-t.C:
			if err := o.line(time.Now(), s.Counts()); err != nil {
				return err
			}
		}
	}
}

// line is that of the text's program:
//
//	Jun 21 22:13:07.492: concurrency: 1040, last delay: 2.671444385s
func (o Options) line(now time.Time, c Counts) error {
	if o.JSON {
		return json.NewEncoder(o.Stdout).Encode(struct {
			Time time.Time `json:"time"`
			Counts
			LastDelay float64 `json:"last_delay_s"`
		}{now, c, c.LastDelay.Seconds()})
	}
	_, err := fmt.Fprintf(o.Stdout, "%s: concurrency: %4d, last delay: %s\n", now.Format(time.StampMilli), c.Concurrency, c.LastDelay)
	return err
}

func (o Options) summary(c Counts, took time.Duration) error {
	if o.JSON {
		type summary struct {
			Seconds float64 `json:"seconds"`
			Counts
		}
		return json.NewEncoder(o.Stdout).Encode(struct {
			Summary summary `json:"summary"`
		}{summary{took.Seconds(), c}})
	}
	_, err := fmt.Fprintf(o.Stdout, "Served %d requests in %s, %d of them for clients that had given up, at most %d at a time; %d were not done.\n",
		c.Served, took.Round(100*time.Millisecond), c.Abandoned, c.Peak, c.Concurrency)
	return err
}

// refusals writes what the HTTP server complains of, but of connections that it
// could not accept only the first: with no file left for them it tries again
// every second, for as long as it lasts.
type refusals struct {
	w    io.Writer
	mu   sync.Mutex
	told bool
}

func (r *refusals) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bytes.Contains(p, []byte("Accept error")) {
		if r.told {
			return len(p), nil
		}
		r.told = true
	}
	return r.w.Write(p)
}
