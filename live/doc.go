// Package live is a page that shows limiters at work: the window, the attempts in flight, the queue, and each
// decision with its reason. A Tally sums up limiters for metrics.
//
//	mux.Handle("/debug/aimd/", live.Handler(live.Of(lim)))           // one, or some
//	mux.Handle("/debug/aimd/", live.Handler(live.Keyed(limiters)))   // one for each key or host
//
// The page loads no other source, so it works without a network and under Content-Security-Policy: default-src
// 'self'. It shows names of limiters and their traffic: serve it where the metrics are served.
//
// # Who may look
//
// The path events answers 403 if Sec-Fetch-Site or Origin says that a page of another site asks. For an image over
// plain http, from another machine, a browser sends neither header. Such a request cannot read the answer, but
// takes a place until it ends.
//
// A name of another site can be made to lead to your server (DNS rebinding). So every file answers 403 if the
// request's Host is a name with a dot that was not given to Handler. If a proxy passes its own Host on, give
// Handler the proxy's name.
//
// # Cost
//
// While no page is open, the package runs no goroutine, no timer and no observer. While a page is open, it
// looks at the limiters as often as the page asks, and keeps ten minutes.
package live
