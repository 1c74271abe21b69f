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
	// fixed returns a bounder with that many slots.
	fixed func(slots int) bounder
	// adaptive returns a bounder that starts there and finds the bound on its own. nil if
	// the contender cannot.
	adaptive func(start int) bounder
}

// bounder gives slots.
type bounder struct {
	// cycle acquires a slot, calls hold, and releases the slot as a success, in the shortest
	// way: that is measured.
	cycle func(hold func())
	// acquire waits for a slot. release gives it back; refused is true if the service refused
	// the request.
	acquire func(context.Context) (release func(refused bool), err error)
	// paces: after a refusal the bounder decides when the next request goes.
	paces bool
}

// reference is the contender that the others are compared with.
const reference = "x/sync semaphore"

var (
	tahoe = aimdContender("aimd Tahoe", aimd.Config{Law: aimd.Tahoe(0.9, 20)})
	reno  = aimdContender("aimd Reno", aimd.Config{Law: aimd.Reno(0.9)})
	probe = aimdContender("aimd Probe", aimd.Config{})
)

var contenders = []contender{
	{reference, weighted, nil},
	{"channel", channel, nil},
	failsafeContender("failsafe-go adaptive", func(b failsafeBuilder) failsafeBuilder { return b }),
	failsafeContender("failsafe-go adaptive, queueing", func(b failsafeBuilder) failsafeBuilder {
		// Let it queue all that come.
		return b.WithQueueing(1e6, 1e6)
	}),
	tahoe, reno, probe,
}

// background never ends, so waiting for a slot cannot fail.
var background = context.Background()

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// unbounded is plain backoff, without a bound on the requests in flight: a refused request
// waits and is sent again. It has no slots, so there is no cost to compare.
var unbounded = bounder{acquire: func(ctx context.Context) (func(bool), error) { return func(bool) {}, ctx.Err() }}

const plainBackoff = "plain backoff"

func weighted(n int) bounder {
	s := semaphore.NewWeighted(int64(n))
	return bounder{
		cycle: func(hold func()) {
			must(s.Acquire(background, 1))
			hold()
			s.Release(1)
		},
		acquire: func(ctx context.Context) (func(bool), error) { return func(bool) { s.Release(1) }, s.Acquire(ctx, 1) },
	}
}

func channel(n int) bounder {
	c := make(chan struct{}, n)
	return bounder{
		cycle: func(hold func()) {
			c <- struct{}{}
			hold()
			<-c
		},
		acquire: func(ctx context.Context) (func(bool), error) {
			select {
			case c <- struct{}{}:
				return func(bool) { <-c }, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
}

type failsafeBuilder = adaptivelimiter.Builder[any]

func failsafeContender(name string, change func(failsafeBuilder) failsafeBuilder) contender {
	build := func(least, most, start int) bounder {
		l := change(adaptivelimiter.NewBuilder[any]().WithLimits(uint(least), uint(most), uint(start))).Build()
		acquire := func(ctx context.Context) (adaptivelimiter.Permit, error) {
			for {
				p, err := l.AcquirePermit(ctx)
				if !errors.Is(err, adaptivelimiter.ErrExceeded) {
					return p, err
				}
				time.Sleep(time.Millisecond) // it rejects rather than wait: its user has to try again
			}
		}
		return bounder{
			cycle: func(hold func()) {
				p, err := acquire(background)
				must(err)
				hold()
				p.Record()
			},
			acquire: func(ctx context.Context) (func(bool), error) {
				p, err := acquire(ctx)
				return func(refused bool) {
					if refused {
						p.Drop() // Record would count the short time of a refusal as the time of the service
					} else {
						p.Record()
					}
				}, err
			},
		}
	}
	return contender{
		name:     name,
		fixed:    func(n int) bounder { return build(n, n, n) },
		adaptive: func(n int) bounder { return build(1, 200, n) }, // its own defaults
	}
}

func aimdContender(name string, config aimd.Config) contender {
	build := func(n int, most float64) bounder {
		config.InitialWindow, config.MaxWindow = float64(n), most
		l, err := aimd.New(config)
		must(err) // the settings are ours
		return bounder{
			paces: true,
			cycle: func(hold func()) {
				p, err := l.Acquire(background)
				must(err)
				hold()
				p.Done(aimd.Success)
			},
			acquire: func(ctx context.Context) (func(bool), error) {
				p, err := l.Acquire(ctx)
				return func(refused bool) {
					if refused {
						p.Done(aimd.Overload)
					} else {
						p.Done(aimd.Success)
					}
				}, err
			},
		}
	}
	return contender{
		name:     name,
		fixed:    func(n int) bounder { return build(n, float64(n)) },
		adaptive: func(n int) bounder { return build(n, 0) },
	}
}
