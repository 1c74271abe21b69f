package live

import (
	"fmt"
	"iter"

	"github.com/aimd-go/aimd/limiter"
)

// Limiters yields the limiters that there are now, each with a name to show; the
// first ones are shown if there are too many. It is called several times a second
// while a page is open, by one goroutine at a time. A name of "" stands for that of
// the limiter itself. It may change.
//
// The methods httplimit.Transport.Limiters and limiter.Keyed[string].All are
// Limiters as they are.
type Limiters = func() iter.Seq2[string, *limiter.Limiter]

// Flow is what is known of a client that no limiter bounds. A page knows it by its
// address.
type Flow struct {
	// InFlight is the number of attempts sent and not answered.
	InFlight int
	// Accepted and Refused count answers since the start.
	Accepted, Refused uint64
	// Ended: it sends no more.
	Ended bool
}

// Flows yields the clients without a limiter that there are now, as they are now, each
// with a name to show. It is called as Limiters is, and may write the Flow just before it
// yields it; nothing else may.
type Flows = func() iter.Seq2[string, *Flow]

// Of yields these limiters under their own names (aimd.WithName).
func Of(limiters ...*limiter.Limiter) Limiters {
	return func() iter.Seq2[string, *limiter.Limiter] {
		return func(yield func(string, *limiter.Limiter) bool) {
			for _, l := range limiters {
				if !yield("", l) {
					return
				}
			}
		}
	}
}

// Keyed yields the limiters that there are, under their keys as fmt prints them.
func Keyed[K comparable](limiters *limiter.Keyed[K]) Limiters {
	return func() iter.Seq2[string, *limiter.Limiter] {
		return func(yield func(string, *limiter.Limiter) bool) {
			for key, l := range limiters.All() {
				if !yield(fmt.Sprint(key), l) {
					return
				}
			}
		}
	}
}
