package admission

import (
	"context"
	"fmt"
	"time"

	gate "github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Permit is the place of one request that is served, and the duty to give it back: exactly one call of Done.
// Copies are the same permit. The zero Permit is released already.
type Permit struct {
	c      *Controller
	ticket gate.Ticket
	tags   tag.Tags
	// at is when it was given.
	at, waited time.Duration
}

// Done gives the place back and says how the request ended: Success, Overload or Timeout if the service
// behind was too loaded for it, Neutral if its end is unrelated to load, ClientError if the answer was final
// and no success. A second call is an error without effect. Done panics if o is not an outcome.
func (p Permit) Done(o window.Outcome) error {
	if !o.Valid() {
		panic(fmt.Sprintf("admission: Permit.Done with %d, want Success, Overload, Timeout, Neutral or ClientError", o))
	}
	c := p.c
	if c == nil {
		return errReleased
	}
	c.mu.Lock()
	now := c.now()
	if c.core.Answered(now, p.ticket, o) == gate.Late {
		c.unlock(now)
		return errReleased
	}
	c.note(Event{Kind: Released, Tags: p.tags, Wait: p.waited, Outcome: o, Took: c.core.gate.RTT()})
	c.unlock(now)
	return nil
}

// Waited is how long the request waited for its place; 0: it got it at once.
func (p Permit) Waited() time.Duration { return p.waited }

// Held is the time since the permit was given, by the controller's clock; 0 for the zero Permit.
func (p Permit) Held() time.Duration {
	if p.c == nil {
		return 0
	}
	return p.c.now() - p.at
}

type (
	// permitKey is the key of the permit in a context.
	permitKey struct{}
	// permitOf is the key under which a context says that its request has a permit of the controller.
	permitOf struct{ c *Controller }
)

// NewContext returns a context for the service of the request that has the permit, as httplimit.Handler
// and contrib/grpc give to the application. The zero Permit returns ctx.
func NewContext(ctx context.Context, p Permit) context.Context {
	if p.c == nil {
		return ctx
	}
	return context.WithValue(context.WithValue(ctx, permitKey{}, p), permitOf{p.c}, true)
}

// FromContext returns the permit of the context's request, and false without one. An application may release
// it early, when only something cheap continues, such as a stream of events; the later release by
// httplimit.Handler or contrib/grpc has no effect.
func FromContext(ctx context.Context) (Permit, bool) {
	p, ok := ctx.Value(permitKey{}).(Permit)
	return p, ok
}
