package limiter

import "context"

// slotOf is the key under which a context tells that its attempt has a slot of
// the limiter.
type slotOf struct{ l *Limiter }

// WithSlot returns a context for what is done within an attempt that has a slot
// of the limiter. Do and Each give such a one to their function; those who
// drive their attempts themselves may use it too.
func (l *Limiter) WithSlot(ctx context.Context) context.Context {
	return context.WithValue(ctx, slotOf{l}, true)
}

// HasSlot reports whether the context is that of an attempt that has a slot of
// the limiter already. The doors (httplimit.Transport, contrib/aws) then take
// no second one: to wait for it while holding the first could last for ever.
func (l *Limiter) HasSlot(ctx context.Context) bool { return ctx.Value(slotOf{l}) != nil }
