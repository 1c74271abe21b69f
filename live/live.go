package live

import (
	"fmt"
	"iter"

	"github.com/aimd-go/aimd"
)

// Limiters yields the present limiters, each with a name to show; "" means the limiter's own name. If they are too
// many for the page, it shows the first limiters by name. A name may change. While a page is open, its Handler
// calls the function several times a second, by one goroutine at a time; for more than 50 limiters it waits 100 µs for each
// between two calls. A Tally calls it at each Read.
//
// The method All of an aimd.Keyed[string] is such a function.
type Limiters = func() iter.Seq2[string, *aimd.Limiter]

// Of yields these limiters under their own names (aimd.Config.Name).
func Of(limiters ...*aimd.Limiter) Limiters {
	return func() iter.Seq2[string, *aimd.Limiter] {
		return func(yield func(string, *aimd.Limiter) bool) {
			for _, l := range limiters {
				if !yield("", l) {
					return
				}
			}
		}
	}
}

// Keyed yields the present limiters, under their keys as fmt prints them. It panics if limiters is nil.
func Keyed[K comparable](limiters *aimd.Keyed[K]) Limiters {
	if limiters == nil {
		panic("live: Keyed with limiters nil")
	}
	return func() iter.Seq2[string, *aimd.Limiter] {
		return func(yield func(string, *aimd.Limiter) bool) {
			for key, l := range limiters.All() {
				if !yield(fmt.Sprint(key), l) {
					return
				}
			}
		}
	}
}
