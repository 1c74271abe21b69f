// Package live is a page that shows limiters at work: the window as it looks for the
// limit, what is in flight and waits, each decision with its reason, and what to do.
//
//	mux.Handle("/debug/aimd/", live.Handler(live.Of(lim)))           // one, or some
//	mux.Handle("/debug/aimd/", live.Handler(live.Keyed(buckets)))    // one for each key
//	mux.Handle("/debug/aimd/", live.Handler(transport.Limiters))     // one for each host
//
// The page is one of our own with no other source, a few files that are embedded here,
// so it works without a network and under Content-Security-Policy: default-src 'self'.
// It shows names of limiters and how much is sent: serve it where the metrics are
// served, not to the world.
//
// # Who may look
//
// A page of another site that is open in a browser of yours could try to read this one,
// or take its places. So events answers 403 if Sec-Fetch-Site or Origin says that another
// site asks. A browser sends neither with an image's request to plain http outside its own
// machine; such a request reads nothing, but takes a place until it ends.
//
// A name of another site can be made to lead to your server (DNS rebinding). So every file
// answers 403 if the request's Host is a name with a dot: an IP address, localhost, a name
// without a dot and the hosts given to Handler are allowed. Behind a proxy that passes its
// own Host on, give Handler the proxy's name; nginx passes the server's address instead,
// unless proxy_set_header Host says otherwise.
//
// # Cost
//
// Nothing runs while no page is open: no goroutine, no timer, no observer. While one is,
// limiters are looked at as often as the page asks for, four times a second at first.
// What was seen within the last ten minutes is kept for a reload and for other pages,
// and a limiter keeps its latest decisions by itself, so that a first look shows some
// of the past too.
package live
