package aimd

import (
	"context"
	"iter"
)

// Result is an item of [Map] with its value.
type Result[T, R any] struct {
	// Item is the item as it was pulled, Index its place among all that were pulled, from 0.
	Item  T
	Index int
	// Value is the value of the attempt that succeeded; with an error the zero value.
	Value R
}

// Map returns an iterator that runs fn for every item as [Each] does, while it is ranged over. It yields every item
// with its value or its error, in the order in which the items end:
//
//	for r, err := range aimd.Map(ctx, lim, urls, fetch) {
//		if err != nil {
//			log.Printf("%s: %v", r.Item, err)
//		}
//	}
//
// Result.Index leads back to the order of the items. To stop, leave the loop: the context of all running calls is
// cancelled, and the loop ends when they return. If no more items are pulled, the error of an item says so: ctx.Err(),
// ErrClosed, ErrQueueFull, ErrWait or ErrQuota.
func Map[T, R any](ctx context.Context, l *Limiter, items iter.Seq[T], fn func(context.Context, T) (R, error)) iter.Seq2[Result[T, R], error] {
	return func(yield func(Result[T, R], error) bool) {
		pending := func(yield func(*Result[T, R]) bool) {
			n := 0
			for item := range items {
				if !yield(&Result[T, R]{Item: item, Index: n}) {
					return
				}
				n++
			}
		}
		run := func(ctx context.Context, r *Result[T, R]) error {
			return keep(&r.Value, func(ctx context.Context) (R, error) { return fn(ctx, r.Item) })(ctx)
		}
		for r, err := range each(ctx, l, pending, run, new(error)) {
			if !yield(*r, err) {
				return
			}
		}
	}
}
