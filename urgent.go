package aimd

import "context"

// wants is what an operation says of itself in its context. It has one key, so that an operation without it costs one look.
type wants struct {
	// amount is what it costs, 0 if it does not say.
	amount float64
	urgent bool
}

type wantsKey struct{}

func wanted(ctx context.Context) wants {
	w, _ := ctx.Value(wantsKey{}).(wants)
	return w
}

// Urgent returns a context whose operations go before those that wait without it, in every limiter that gets the context: a
// person waits for them, and nobody for a batch. Among themselves they keep the order of all operations, with their deadlines.
// While others wait, a quarter of the attempts in flight is theirs, so that no number of urgent operations stops a batch.
//
// Urgent operations take their slots from the same window, count in the same quotas and in QueueBound, and obey the same
// pauses. Within an attempt that has a slot of the limiter, Urgent has no effect. It needs no setting, and is safe for any
// number of goroutines.
func Urgent(ctx context.Context) context.Context {
	w := wanted(ctx)
	w.urgent = true
	return context.WithValue(ctx, wantsKey{}, w)
}
