package admission

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Controller admits as many requests at a time as its limit allows, makes a few wait, and sheds other requests. It
// is safe for any number of goroutines. It starts no goroutine and need not be closed.
type Controller struct {
	clock    clock.Clock
	observer func(Event)
	// made is the time when the controller was made. The core's time counts from there.
	made time.Time

	mu   sync.Mutex
	core core
	// counts are by criticality, the least critical first. outcomes count the ends of the admitted requests.
	counts   [criticalities]Counts
	outcomes [window.ClientError + 1]uint64
	// timer calls woke at wake; 0: it is not set.
	timer *clock.Timer
	wake  time.Duration
	// events are for after the unlock.
	events []Event
}

// New returns a controller with the limit, or an error that names the wrong setting, its value and the
// allowed values.
func New(l Limit, c Config) (*Controller, error) {
	core, err := newCore(l, c)
	if err != nil {
		return nil, fmt.Errorf("admission: %w", err)
	}
	source := clock.New()
	return &Controller{clock: source, observer: c.Observer, made: source.Now(), core: core}, nil
}

// Admit returns the place to serve a request. If the limit is reached, the request waits, for at most Config.QueueTime.
// A request whose context has a deadline is shed as expired if it has too little time left when its turn comes, and
// then the newest of its criticality goes first for a while. If it is shed, the error is a [*Shed]; if the context ends
// first, ctx.Err(). If the context has a place of this controller (see [NewContext]), Admit returns the zero Place,
// since a wait for a second place could last for ever.
func (c *Controller) Admit(ctx context.Context, t tag.Tags) (Place, error) {
	if ctx.Value(placeOf{c}) != nil {
		return Place{}, nil
	}
	turn := 0
	if c.core.config.Turn != nil {
		turn = c.core.config.Turn(t)
	}
	c.mu.Lock()
	now := c.now()
	if err := ctx.Err(); err != nil {
		c.vanished(t, 0)
		c.unlock(now)
		return Place{}, err
	}
	if ticket, ok := c.core.Tried(now); ok {
		c.of(t).Admitted++
		c.unlock(now)
		return Place{c: c, ticket: ticket, tags: t, at: now}, nil
	}
	r := &request{tags: t, turn: turn, ready: make(chan struct{})}
	if at, bounded := ctx.Deadline(); bounded {
		r.deadline = max(1, at.Sub(c.made))
	}
	c.core.Queued(now, r)
	c.unlock(now)
	select {
	case <-r.ready:
	case <-ctx.Done():
		c.mu.Lock()
		now = c.now()
		left := c.core.Cancelled(now, r)
		if left {
			c.vanished(t, c.core.Waited(r))
		}
		c.unlock(now)
		if left {
			return Place{}, ctx.Err()
		}
		<-r.ready // it was admitted or shed at the same moment, and that stands
	}
	if r.shed != nil {
		return Place{}, r.shed
	}
	return r.place, nil
}

func (c *Controller) now() time.Duration { return c.clock.Since(c.made) }

// unlock is the only way out of the lock. It admits and sheds requests, sets the timer and releases the lock. Only
// then it wakes the waiters and calls the observer.
func (c *Controller) unlock(now time.Duration) {
	var decided []*request
	for r := c.core.Next(now); r != nil; r = c.core.Next(now) {
		c.decide(r, now)
		decided = append(decided, r)
	}
	c.arm()
	events := c.events
	c.events = nil
	c.mu.Unlock()
	for _, r := range decided {
		close(r.ready)
	}
	for _, e := range events {
		c.observer(e)
	}
}

func (c *Controller) decide(r *request, now time.Duration) {
	n := c.of(r.tags)
	if s := r.shed; s != nil {
		n.shed(s)
		c.note(Event{Tags: r.tags, Waited: s.Waited, Shed: s})
		return
	}
	n.Admitted++
	n.Delayed++
	r.place = Place{c: c, ticket: r.ticket, tags: r.tags, at: now, waited: c.core.Waited(r)}
}

func (c *Controller) vanished(t tag.Tags, waited time.Duration) {
	c.of(t).Vanished++
	c.note(Event{Tags: t, Waited: waited})
}

// of has the counts of requests with the criticality of these tags.
func (c *Controller) of(t tag.Tags) *Counts { return &c.counts[rank(t.Criticality)] }

// arm sets the timer for the gate's Deadline. A timer that is too early does no harm: it is set again then.
func (c *Controller) arm() {
	at, ok := c.core.Deadline()
	if !ok || c.wake != 0 && at >= c.wake {
		return
	}
	c.wake = at
	d := at - c.now()
	if c.timer == nil {
		c.timer = c.clock.AfterFunc(d, c.woke)
	} else {
		c.timer.Reset(d)
	}
}

func (c *Controller) woke() {
	c.mu.Lock()
	c.wake = 0
	c.unlock(c.now())
}

func (c *Controller) note(e Event) {
	if c.observer != nil {
		c.events = append(c.events, e)
	}
}

// Place is the place of one request that is served, and the duty to give it back: exactly one call of Done.
// Copies are the same place. The zero Place is released already.
type Place struct {
	c      *Controller
	ticket window.Ticket
	tags   tag.Tags
	// at is the time when it was given.
	at, waited time.Duration
}

// Done gives the place back and reports the end of the request. Success: the service did the work. Overload and
// Timeout: the service behind was too loaded. Neutral: the end is unrelated to load. ClientError: the answer was
// final and no success. window.Unclear is Neutral, and Timeout while most of the latest answers are unclear. A
// second call has no effect. If o is not an outcome, Done gives the place back as Neutral and panics.
func (p Place) Done(o window.Outcome) {
	if !o.Valid() {
		p.Done(window.Neutral) // a place that is kept narrows the server for ever
		panic(fmt.Sprintf("admission: Place.Done: %d is not allowed, want Success, Overload, Timeout, Neutral, ClientError or Unclear", o))
	}
	c := p.c
	if c == nil {
		return
	}
	c.mu.Lock()
	now := c.now()
	if a, ok := c.core.Answered(now, p.ticket, o); ok {
		if o == window.Unclear {
			o = a.Outcome // as the gate took it
		}
		c.outcomes[o]++
		c.note(Event{Tags: p.tags, Waited: p.waited, Outcome: o, Took: a.RTT})
	}
	c.unlock(now)
}

// Waited is the time for which the request waited for its place; 0: it did not wait.
func (p Place) Waited() time.Duration { return p.waited }

// Held is the time since the place was given, by the controller's clock; 0 for the zero Place.
func (p Place) Held() time.Duration {
	if p.c == nil {
		return 0
	}
	return p.c.now() - p.at
}

type (
	// placeKey is the key of the place in a context.
	placeKey struct{}
	// placeOf is the key under which a context says that its request has a place of the controller.
	placeOf struct{ c *Controller }
)

// NewContext returns a context for the service of the request that has the place, as [NewHandler]
// and contrib/grpclimit give to the application. The zero Place returns ctx.
func NewContext(ctx context.Context, p Place) context.Context {
	if p.c == nil {
		return ctx
	}
	return context.WithValue(context.WithValue(ctx, placeKey{}, p), placeOf{p.c}, true)
}

// FromContext returns the place of the context's request, and false without one. An application may release the
// place early, if only cheap work continues, such as a stream of events. The later release by [NewHandler] or
// contrib/grpclimit has no effect.
func FromContext(ctx context.Context) (Place, bool) {
	p, ok := ctx.Value(placeKey{}).(Place)
	return p, ok
}
