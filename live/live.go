package live

import (
	"fmt"
	"iter"
	"net/http"

	"github.com/aimd-go/aimd/internal/viewer"
	"github.com/aimd-go/aimd/limiter"
)

// Limiters yields the present limiters, each with a name to show, "" for the limiter's own name; if they are
// too many, the first ones are shown. A name may change. It is called several times a second while a page is
// open, by one goroutine at a time.
//
// The methods httplimit.Transport.Limiters and limiter.Keyed[string].All are Limiters as they are.
type Limiters = func() iter.Seq2[string, *limiter.Limiter]

// Handler returns a handler that serves the page of the limiters. It works below any prefix, which must end
// in a slash: every path that does is the page, and in the same folder are its other files and events, the
// server-sent events that it shows.
//
// GET events?every=250ms reports how the limiters are, as often as that: 100ms to 1s, default 250ms. At most
// 16 pages are served at a time, with at most 50 limiters; the page says how many are left out.
// http.Server.Shutdown does not wait for open pages.
//
// Hosts are further names of the page's host, without a port: see the package's section on who may look. The
// handler is safe for any number of goroutines. Handler panics if limiters is nil.
func Handler(limiters Limiters, hosts ...string) http.Handler {
	if limiters == nil {
		panic("live: Handler with limiters nil")
	}
	return viewer.Handler(limiters, nil, hosts)
}

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

// Keyed yields the limiters that there are, under their keys as fmt prints them. It panics if limiters is
// nil.
func Keyed[K comparable](limiters *limiter.Keyed[K]) Limiters {
	if limiters == nil {
		panic("live: Keyed with limiters nil")
	}
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
