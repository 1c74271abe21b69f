// Package httplimit puts a limiter in front of an http.Client. It uses the
// standard library only, and never retries by itself: SDKs and
// [limiter.Limiter.Do] do that.
//
// There are two ways. One of them is enough for a request.
//
// A [Transport] is for a client that retries by itself: the SDK of a cloud or
// an API, or a loop of your own. Every attempt waits for a slot, and holds it
// until its answer's body is read or closed:
//
//	client := &http.Client{Transport: httplimit.New(nil, lim)}
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
// With both around the same request, and the same limiter, the Transport sees
// by the context that Do has a slot for it, and stays out of the way.
//
// What happens if
//   - the body is never closed: the slot is held until the request's context
//     ends, and for good if it cannot end. Always close the body.
//   - a goroutine keeps a body open while it sends other requests through the
//     same limiter: it needs several slots at a time, and when all are held by
//     goroutines like it none gets on. Read the body first, or use a limiter
//     for each kind of request.
//   - the request's context ends while it waits: it leaves the queue, nothing is
//     sent, and the error is a [NotSentError].
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
package httplimit
