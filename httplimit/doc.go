// Package httplimit is for both ends of HTTP. It puts a limiter in front of an
// http.Client, tells the server about each request, and puts admission in front
// of an http.Handler. It uses the standard library only.
//
// # Client
//
// There are four ways. One of them is enough for a request.
//
// [Client] is an http.Client that waits, sends again what may be sent again for as long
// as that may help, and needs no further thought:
//
//	client := httplimit.Client(lim)
//
// A [Transport] is for a client that retries by itself: the SDK of a cloud or
// an API, or a loop of your own. Every attempt waits for a slot, and holds it
// until its answer's body is read or closed:
//
//	client := &http.Client{Transport: httplimit.New(nil, lim)}
//
// It never retries by itself: SDKs, a [Retrier] and [limiter.Limiter.Do] do that.
//
// [Check] is for a plain client inside Do, which retries for you. It makes an
// error of an answer that is one, and Do knows what to do with it:
//
//	err := lim.Do(ctx, func(ctx context.Context) error {
//		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
//		if err != nil {
//			return err
//		}
//		resp, err := http.DefaultClient.Do(req)
//		if err != nil {
//			return err
//		}
//		defer resp.Body.Close()
//		if err := httplimit.Check(resp); err != nil {
//			return err
//		}
//		...read all of resp.Body here: the slot is held as long as this function runs
//	})
//
// A [Retrier] above a Transport is for a plain client that nothing else retries
// for. It sends again what a retry.Policy allows, and needs no function around the
// request:
//
//	retrier, err := httplimit.NewRetrier(httplimit.New(nil, lim), policy)
//	client := &http.Client{Transport: retrier}
//
// With Do and a Transport around the same request, and the same limiter, the Transport sees
// by the context that Do has a slot for it, and stays out of the way.
//
// What happens if
//   - the body is never closed: the slot is held until the request's context
//     ends, and for good if it cannot end. Always close the body.
//   - a goroutine keeps a body open while it sends other requests through the
//     same limiter: it needs several slots at a time, and when all are held by
//     goroutines like it none gets on. Read the body first, or use a limiter
//     for each kind of request.
//   - a guard of the limiter (a throttle, a retry budget) refuses: nothing is sent,
//     and the error is an [attempt.Error] of no attempt, with the guard's in it.
//   - the request's context ends while it waits: it leaves the queue, nothing is
//     sent, and the error is such a one.
//   - time runs out after it was sent, by http.Client.Timeout or a deadline of
//     the context: the law is told of a timeout, but only if the attempt had
//     at least half of the time that the request was given. Where the wait for
//     the slot took most of it, the queue was too long, not the service too
//     slow; if that narrowed the window, it would make the queue slower still
//     and the timeouts more, until nothing but timeouts is left. The same goes
//     for a reader that is slow itself: a deadline that finds a body open
//     and nobody reading is neutral.
//   - the caller cancels: neutral.
//   - the connection becomes another protocol's (101): it holds its slot until
//     it is closed or read to its end, whatever becomes of the context.
//   - the base transport panics: the slot is released, the panic goes on.
//
// Hints. A bound on the attempt alone is better than one on the wait and the
// attempt together: http.Transport.ResponseHeaderTimeout rather than
// http.Client.Timeout. http.Transport keeps two idle connections for each host
// unless told otherwise: set MaxIdleConnsPerHost to the largest window that you
// expect. Request.Cancel, deprecated long since, is not heeded in the queue.
//
// A [Tagger] tells the server which client sends a request, for which feature, how bad
// it is if it fails, and which attempt it is, so that the server can choose ("More information
// at server = more granular responses", Safe Client Behaviour):
//
//	tagger, err := httplimit.NewTagger(nil, "photos", "2.1")
//	...
//	client := &http.Client{Transport: httplimit.New(tagger, lim)}
//
// Where the server chooses by criticality, as a Handler does, give each criticality
// a limiter of its own: the refusals of background work would else narrow the
// window of interactive work too, and the one would wait behind the other in the
// limiter's queue, which knows no criticality.
//
// # Server
//
// A [Handler] lets through as many requests at a time as the handler behind it can
// take, makes a few wait, the most critical first, and refuses the rest with a
// jittered Retry-After:
//
//	c, err := admission.New(admission.Fixed(32), admission.Config{})
//	...
//	h, err := httplimit.NewHandler(app, c, httplimit.HandlerConfig{})
//
// What happens if
//   - the client goes away while its request waits: the request leaves the queue. For
//     HTTP/1 net/http sees that only when the request's body has been read, or has
//     none; such a request stays in the queue until its time is up.
//   - the client goes away while it is served: its place is held until the handler
//     behind returns; its context has ended, which should make it.
//   - the handler behind panics: the place is given back, the panic goes on.
//   - it hijacks the connection, as for a websocket: the place is given back at once,
//     since the connection may live for days. To bound those, count them.
//   - it streams: the place is held until it returns, or releases the permit in its
//     context (admission.FromContext). Flush, http.ResponseController, full duplex
//     and sendfile work as without the Handler; http.CloseNotifier, deprecated long
//     since, does not.
//   - it is a websocket over HTTP/2 (RFC 8441), which hijacks nothing: a stream.
//   - it is an httputil.ReverseProxy: nothing special, early hints, trailers and
//     upgrades among it. The tags go on in the headers as the client sent them; what
//     HandlerConfig.Tags made of them goes on with SetTags, in the proxy's Rewrite.
//   - its time is bounded by an http.TimeoutHandler: put that around the Handler. Behind
//     it, the place is given back while the work that was given up goes on, and
//     more is under way than the limit says.
//   - a tag is malformed: it counts as not given, so a criticality that does not
//     exist as critical. By default that is reported to nobody; see HandlerConfig.Tags.
//   - it passes the request to another Handler with the same controller: that one
//     needs no second place.
//   - a request is refused before its body was read: net/http reads a little more of it
//     and then closes the connection, so a client that does not look for the
//     answer while it sends may see a reset. "Expect: 100-continue" avoids it.
//
// The application finds the tags in the request's context (tag.FromContext), and the
// permit. What was decided is in the controller's Snapshot, which goes
// through JSON, such as for expvar, and each decision with its tags and its reason
// goes to the controller's observer (admission.Config).
package httplimit
