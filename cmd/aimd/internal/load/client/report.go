package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// counts are how many attempts ended how, and how many operations without success.
type counts struct {
	OK       int64 `json:"ok"`
	Errors   int64 `json:"errors"`
	TimedOut int64 `json:"timedout"`
	GaveUp   int64 `json:"gave_up"`
}

func (c *clients) counts() counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *clients) count(change func(*counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.n)
}

type rates struct {
	OK       float64 `json:"ok_per_s"`
	Errors   float64 `json:"errors_per_s"`
	TimedOut float64 `json:"timedout_per_s"`
	GaveUp   float64 `json:"gave_up_per_s"`
}

// since is how often per second things happened between two moments.
func (c counts) since(before counts, span time.Duration) rates {
	per := func(n, before int64) float64 { return float64(n-before) / span.Seconds() }
	return rates{per(c.OK, before.OK), per(c.Errors, before.Errors), per(c.TimedOut, before.TimedOut), per(c.GaveUp, before.GaveUp)}
}

// report writes the lines until the context ends, then the summary. A last span
// of less than half the time has no line.
func (c *clients) report(ctx context.Context, o Options) error {
	t := time.NewTicker(o.Report)
	defer t.Stop()
	began := time.Now()
	last, before := began, counts{}
	for ctx.Err() == nil {
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		now, n := time.Now(), c.counts()
		if span := now.Sub(last); span >= o.Report/2 {
			if err := c.line(o, now, n.since(before, span)); err != nil {
				return err
			}
			last, before = now, n
		}
	}
	return c.summary(o, time.Since(began))
}

// line is that of the text's program:
//
//	OK: 36.00 req/sec, errors: 0.00 req/sec, timedout: 22.60 req/sec
func (c *clients) line(o Options, now time.Time, r rates) error {
	if o.JSON {
		return json.NewEncoder(o.Stdout).Encode(struct {
			Time time.Time `json:"time"`
			rates
			*shared
		}{now, r, c.shared()})
	}
	_, err := fmt.Fprintf(o.Stdout, "OK: %.2f req/sec, errors: %.2f req/sec, timedout: %.2f req/sec\n", r.OK, r.Errors, r.TimedOut)
	return err
}

// shared is how the limiter that the clients share stands.
type shared struct {
	Cwnd     float64 `json:"cwnd"`
	Ssthresh float64 `json:"ssthresh"`
	InFlight int     `json:"in_flight"`
	Queued   int     `json:"queued"`
}

func (c *clients) shared() *shared {
	if c.strategy.limiter == nil {
		return nil
	}
	s := c.strategy.limiter.Snapshot()
	return &shared{s.Cwnd, s.Ssthresh, s.InFlight, s.Queued}
}

func (c *clients) summary(o Options, took time.Duration) error {
	n := c.counts()
	if o.JSON {
		type summary struct {
			Strategy string  `json:"strategy"`
			Seconds  float64 `json:"seconds"`
			counts
		}
		return json.NewEncoder(o.Stdout).Encode(struct {
			Summary summary `json:"summary"`
		}{summary{c.strategy.name, took.Seconds(), n}})
	}
	_, err := fmt.Fprintf(o.Stdout, "%s, %s: OK: %d, errors: %d, timedout: %d; %d were given up.\n",
		c.strategy.name, took.Round(100*time.Millisecond), n.OK, n.Errors, n.TimedOut, n.GaveUp)
	if l := c.strategy.limiter; l != nil && err == nil {
		_, err = fmt.Fprintln(o.Stdout, l.Snapshot())
	}
	return err
}
