package live

import (
	"fmt"
	"iter"

	"github.com/aimd-go/aimd/limiter"
)

// Limiters yields the limiters that there are now, each with a name to show; the
// first ones are shown if there are too many. It is called several times a second
// while a page is open, by one goroutine at a time. A name of "" stands for that of
// the limiter itself.
//
// The methods httplimit.Transport.Limiters and limiter.Keyed[string].All are
// Limiters as they are.
type Limiters = func() iter.Seq2[string, *limiter.Limiter]

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
