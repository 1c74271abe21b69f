package main

import (
	"context"
	"errors"
	"slices"
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
	// adaptive returns a bounder that starts there and finds the bound by itself. nil if
	// the contender cannot.
	adaptive func(start int) bounder
}

// bounder gives slots. acquire waits for a slot, and release gives it back; refused is true
// if the service refused the request.
type bounder interface {
	acquire(ctx context.Context) (token, error)
	release(t token, refused bool)
	// cycle acquires a slot, calls hold if it is not nil, and releases the slot as a
	// success, in the shortest way: that is measured.
	cycle(hold func())
}

// token is a slot. Each kind of bounder uses one field, so that no kind has to allocate only
// for the comparison.
type token struct {
	permit   aimd.Permit
	failsafe adaptivelimiter.Permit
}

// reference is the contender that the others are compared with.
const reference = "x/sync semaphore"

var contenders = []contender{
	{reference, func(n int) bounder { return weighted{semaphore.NewWeighted(int64(n))} }, nil},
	{"channel", func(n int) bounder { return channel(make(chan struct{}, n)) }, nil},
	failsafeContender("failsafe-go adaptive", func(b failsafeBuilder) failsafeBuilder { return b }),
	failsafeContender("failsafe-go adaptive, queueing", func(b failsafeBuilder) failsafeBuilder {
		// Let it queue all that come.
		return b.WithQueueing(1e6, 1e6)
	}),
	aimdContender("aimd Tahoe", aimd.NewTahoe, aimd.WithFactor(0.9)),
	aimdContender("aimd Reno", aimd.NewReno, aimd.WithFactor(0.9)),
	aimdContender("aimd Probe", aimd.New),
}

type weighted struct{ s *semaphore.Weighted }

func (w weighted) acquire(ctx context.Context) (token, error) { return token{}, w.s.Acquire(ctx, 1) }
func (w weighted) release(token, bool)                        { w.s.Release(1) }

func (w weighted) cycle(hold func()) {
	must(w.s.Acquire(background, 1))
	if hold != nil {
		hold()
	}
	w.s.Release(1)
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
type unbounded struct{}

const plainBackoff = "plain backoff"

func (unbounded) acquire(ctx context.Context) (token, error) { return token{}, ctx.Err() }
func (unbounded) release(token, bool)                        {}

func (unbounded) cycle(hold func()) {
	if hold != nil {
		hold()
	}
}

type channel chan struct{}

func (c channel) acquire(ctx context.Context) (token, error) {
	select {
	case c <- struct{}{}:
		return token{}, nil
	case <-ctx.Done():
		return token{}, ctx.Err()
	}
}

func (c channel) release(token, bool) { <-c }

func (c channel) cycle(hold func()) {
	c <- struct{}{}
	if hold != nil {
		hold()
	}
	<-c
}

type failsafe struct {
	l adaptivelimiter.AdaptiveLimiter[any]
}

type failsafeBuilder = adaptivelimiter.Builder[any]

func failsafeContender(name string, change func(failsafeBuilder) failsafeBuilder) contender {
	build := func(least, most, start int) bounder {
		return failsafe{change(adaptivelimiter.NewBuilder[any]().WithLimits(uint(least), uint(most), uint(start))).Build()}
	}
	return contender{
		name:     name,
		fixed:    func(n int) bounder { return build(n, n, n) },
		adaptive: func(n int) bounder { return build(1, 200, n) }, // its own defaults
	}
}

func (f failsafe) acquire(ctx context.Context) (token, error) {
	for {
		p, err := f.l.AcquirePermit(ctx)
		if errors.Is(err, adaptivelimiter.ErrExceeded) {
			// It rejects rather than wait: its user has to try again.
			time.Sleep(time.Millisecond)
			continue
		}
		return token{failsafe: p}, err
	}
}

// release drops a refused request: Record would count the short time of the refusal as the
// time of the service.
func (f failsafe) release(t token, refused bool) {
	if refused {
		t.failsafe.Drop()
	} else {
		t.failsafe.Record()
	}
}

func (f failsafe) cycle(hold func()) {
	t, err := f.acquire(background)
	must(err)
	if hold != nil {
		hold()
	}
	t.failsafe.Record()
}

type limited struct{ l *aimd.Limiter }

func aimdContender(name string, newLimiter func(...aimd.Option) (*aimd.Limiter, error), rules ...aimd.Option) contender {
	build := func(n int, opts ...aimd.Option) bounder {
		l, err := newLimiter(slices.Concat(rules, opts, []aimd.Option{aimd.WithInitialWindow(float64(n))})...)
		must(err) // the settings are ours
		return limited{l}
	}
	return contender{
		name:     name,
		fixed:    func(n int) bounder { return build(n, aimd.WithMaxWindow(float64(n))) },
		adaptive: func(n int) bounder { return build(n) },
	}
}

func (l limited) acquire(ctx context.Context) (token, error) {
	p, err := l.l.Acquire(ctx)
	return token{permit: p}, err
}

func (l limited) release(t token, refused bool) {
	outcome := aimd.Success
	if refused {
		outcome = aimd.Overload
	}
	must(t.permit.Done(outcome))
}

func (l limited) cycle(hold func()) {
	p, err := l.l.Acquire(background)
	must(err)
	if hold != nil {
		hold()
	}
	must(p.Done(aimd.Success))
}
