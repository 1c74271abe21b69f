// Package admission decides at a server which requests are served, which wait, and which are shed. It is the
// counterpart of package limiter at the client. Safe Client Behaviour: "Safer clients: Move control to the server!"
//
// Most programs use [NewHandler] or the server interceptors of contrib/grpclimit, which put a
// [Controller] in front of a service. Begin with [Fixed].
//
//	 Admit               +--------------- queue ---------------+
//	   |                 |                                     |
//	   v                 |            shed last                |
//	place free? --no---->|  critical-plus  [oldest ... newest] |--- place free --> served
//	   |                 |  critical       [oldest ... newest] |
//	  yes                |  sheddable-plus [oldest ... newest] |--- full, waited --> shed:
//	   |                 |  sheddable      [oldest ... newest] |      too long       Retry-After
//	   v                 |            shed first               |
//	served               +-------------------------------------+
//
// A free place goes to the most critical waiting request; among equals, to the oldest. If the queue is full, the
// least critical request is shed; among equals, a retry before a first attempt ("Retry or initial request?", Safe
// Client Behaviour), and then the latest. A request that has waited for the queue time is shed too: in an overload
// that lasts, its client has given up or soon will. [Config].Turn puts requests with certain tags first or last.
//
// The Retry-After of a shed request is U(0.5, 1.5) times the time to serve all shed requests that are not due yet.
//
// What happens if
//   - the client goes away: its context ends, and its request leaves the queue at once. If a place came free
//     just then, the request gets its place.
//   - a place is released twice: the second release has no effect.
//   - critical requests alone are too many: they fill the queue, and all others are shed.
//   - less critical requests never get a place: they are shed after the queue time.
//
// # A handler of HTTP
//
//	event                                            outcome
//	the client leaves the queue                      its request leaves too; with HTTP/1 only if its body was read
//	the client leaves while it is served             the place is held until the handler returns
//	the handler panics                               the place is given back, the panic continues
//	the handler hijacks the connection               the place is given back at once
//	the handler passes on to one with the same c     that one needs no second place
//	a request is refused before its body was read    net/http closes the connection after some more of the body
//
// Put an http.TimeoutHandler around the handler of [NewHandler]. Behind it, the place would be given back while the
// abandoned work continues. An httputil.ReverseProxy behind it relays the tags of the headers; tag.SetHeader
// in its Rewrite relays the tags of [HandlerConfig].Tags. http.CloseNotifier does not work.
package admission
