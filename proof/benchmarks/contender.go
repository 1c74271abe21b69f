package main

import (
	"context"
	"errors"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"golang.org/x/sync/semaphore"

	"github.com/aimd-go/aimd"
)

// contender is a way to bound the requests in flight.
type contender struct {
	name string
	// fixed returns a bound of that many slots.
	fixed func(slots int) bound
	// adaptive returns a bound that starts there and goes on by what it sees; nil: the contender cannot.
	adaptive func(start int) bound
	// paces: after a refusal the bound decides when the next request goes.
	paces bool
}

// bound does work once there is a slot, and then gives the slot back: as refused, or as a success. It
// returns an error without doing the work if the context ends before.
type bound func(ctx context.Context, work func() (refused bool)) error

// reference is the contender that the others are compared with.
const reference = "x/sync semaphore"

var contenders = []contender{
	{name: reference, fixed: func(slots int) bound {
		s := semaphore.NewWeighted(int64(slots))
		return func(ctx context.Context, work func() bool) error {
			if err := s.Acquire(ctx, 1); err != nil {
				return err
			}
			work()
			s.Release(1)
			return nil
		}
	}},
	{name: "channel", fixed: func(slots int) bound {
		c := make(chan struct{}, slots)
		return func(_ context.Context, work func() bool) error { // the work ends with the context
			c <- struct{}{}
			work()
			<-c
			return nil
		}
	}},
	// With queueing it waits, however many come; without it, it rejects.
	withFailsafe("failsafe-go adaptive", 0),
	withFailsafe("failsafe-go adaptive, queueing", 1e6),
	withAimd("aimd Tahoe", aimd.Config{Law: aimd.Tahoe(0.9, 20)}),
	withAimd("aimd Reno", aimd.Config{Law: aimd.Reno(0.9)}),
	withAimd("aimd Probe", aimd.Config{}),
}

// plain is backoff without a bound. It has no slots, so there is no cost to compare.
var plain = contender{name: "plain backoff", fixed: func(int) bound {
	return func(ctx context.Context, work func() bool) error {
		work()
		return ctx.Err()
	}
}}

func withFailsafe(name string, queue float64) contender {
	build := func(least, most, start int) bound {
		builder := adaptivelimiter.NewBuilder[any]().WithLimits(uint(least), uint(most), uint(start))
		if queue > 0 {
			builder = builder.WithQueueing(queue, queue)
		}
		l := builder.Build()
		return func(ctx context.Context, work func() bool) error {
			p, err := l.AcquirePermit(ctx)
			for errors.Is(err, adaptivelimiter.ErrExceeded) {
				time.Sleep(time.Millisecond) // it rejects rather than wait: its user has to try again
				p, err = l.AcquirePermit(ctx)
			}
			if err != nil {
				return err
			}
			if work() {
				p.Drop() // Record would count the short time of a refusal as the time of the service
			} else {
				p.Record()
			}
			return nil
		}
	}
	return contender{
		name:     name,
		fixed:    func(n int) bound { return build(n, n, n) },
		adaptive: func(n int) bound { return build(1, 200, n) }, // its own defaults
	}
}

func withAimd(name string, config aimd.Config) contender {
	build := func(n int, most float64) bound {
		config.InitialWindow, config.MaxWindow = float64(n), most
		l, err := aimd.New(config)
		if err != nil {
			panic(err) // the settings are ours
		}
		return func(ctx context.Context, work func() bool) error {
			p, err := l.Acquire(ctx)
			if err != nil {
				return err
			}
			if work() {
				p.End(aimd.Refused(errors.New("busy")))
			} else {
				p.End(nil)
			}
			return nil
		}
	}
	return contender{
		name:     name,
		fixed:    func(n int) bound { return build(n, float64(n)) },
		adaptive: func(n int) bound { return build(n, 0) },
		paces:    true,
	}
}
