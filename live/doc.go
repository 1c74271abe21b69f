// Package live is a page that shows limiters at work: the window as it looks for the
// limit, what is in flight and waits, each decision with its reason, and what to do.
//
//	mux.Handle("/debug/aimd/", live.Handler(live.Of(lim)))           // one, or some
//	mux.Handle("/debug/aimd/", live.Handler(live.Keyed(buckets)))    // one for each key
//	mux.Handle("/debug/aimd/", live.Handler(transport.Limiters))     // one for each host
//
// A client that no limiter bounds can be shown beside them (Flow), to be compared.
//
// The page is one of our own with no other source, a few files that are embedded here,
// so it works without a network and under Content-Security-Policy: default-src 'self'.
// It tells names of limiters and how much is sent: serve it where the metrics are
// served, not to the world.
//
// # Cost
//
// Nothing runs while no page is open: no goroutine, no timer, no observer. While one is,
// limiters are looked at as often as the page asks for, four times a second at first.
// What was seen within the last ten minutes is kept for a reload and for other pages,
// and a limiter keeps its latest decisions by itself, so that a first look shows some
// of the past too.
package live
