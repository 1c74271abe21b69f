package limiter

import "context"

// slotOf is the key under which a context tells that its attempt has a slot of
// the limiter.
type slotOf struct{ l *Limiter }

// attemptKey is the key of an attempt's number.
type attemptKey struct{}

// attemptContext is the context of one attempt. It is a context.WithValue with
// two values for the price of one.
type attemptContext struct {
	context.Context
	// limiter is the one whose slot the attempt has; nil: none's.
	limiter *Limiter
	// number is the attempt's within its operation.
	number int
}

func (c *attemptContext) Value(key any) any {
	switch k := key.(type) {
	case slotOf:
		if k.l == c.limiter {
			return true
		}
	case attemptKey:
		return c.number
	}
	return c.Context.Value(key)
}

// AttemptNumber tells which attempt of its operation the context is that of: 1
// is the first, 2 the first retry; 0: not known. Do, Each and retry.Do say so in
// the context that they give to their function.
func AttemptNumber(ctx context.Context) int {
	n, _ := ctx.Value(attemptKey{}).(int)
	return n
}

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
