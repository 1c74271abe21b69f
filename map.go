package aimd

import (
	"context"
	"iter"
)

// Value runs fn as one operation of the limiter, as Limiter.Do does, and returns the
// value of the attempt that succeeded. With an error it is the zero value.
func Value[T any](ctx context.Context, l *Limiter, fn func(context.Context) (T, error)) (T, error) {
	var value T
	err := l.Do(ctx, func(ctx context.Context) error {
		v, err := fn(ctx)
		if err == nil {
			value = v
		}
		return err
	})
	return value, err
}

// Result is an item of [Map] and what became of it.
type Result[T, R any] struct {
	Item T
	// Value is that of the attempt that succeeded; with an error the zero value.
	Value R
}

// Map is [Each] for a function that returns a value: it runs fn for every item, as
// many at a time as the limiter's window lets, and yields every item with its value or
// the error with which it ended, in the order in which they end.
//
//	for r, err := range aimd.Map(ctx, lim, urls, fetch) {
//		if err != nil {
//			log.Printf("%s: %v", r.Item, err)
//			continue
//		}
//		pages[r.Item] = r.Value
//	}
func Map[T, R any](ctx context.Context, l *Limiter, items iter.Seq[T], fn func(context.Context, T) (R, error)) iter.Seq2[Result[T, R], error] {
	return func(yield func(Result[T, R], error) bool) {
		pending := func(yield func(*Result[T, R]) bool) {
			for item := range items {
				if !yield(&Result[T, R]{Item: item}) {
					return
				}
			}
		}
		run := func(ctx context.Context, r *Result[T, R]) error {
			v, err := fn(ctx, r.Item)
			if err == nil {
				r.Value = v
			}
			return err
		}
		for r, err := range Each(ctx, l, pending, run) {
			if !yield(*r, err) {
				return
			}
		}
	}
}
