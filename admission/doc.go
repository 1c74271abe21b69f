// Package admission decides at a server which requests are served, which wait a little, and which are
// shed. It is the counterpart of package limiter at the client. Safe Client Behaviour: "Safer clients:
// Move control to the server!"
//
// Most programs use httplimit.NewHandler or the server interceptors of contrib/grpclimit, which put a
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
// A place that comes free goes to the most critical request that waits, among equals to the oldest. When the
// queue is full, the least critical request is shed, among equals a retry before a first attempt ("Retry or
// initial request?", Safe Client Behaviour), and then the latest. A request that has waited for the queue
// time is shed too: in an overload that lasts, its client has given up or soon will. [Config].Turn puts requests
// with certain tags first or last.
//
// The Retry-After of a shed request is 0.5 to 1.5 times a mean: the time that it takes to serve all requests
// that were shed and are not due yet.
//
// What happens if
//   - the client goes away: its context ends, and its request leaves the queue at once. If a place came free
//     just then, the request gets its permit.
//   - a permit is released twice: the second release has no effect.
//   - critical requests alone are too many: they fill the queue, and all others are shed.
//   - less critical requests never get a place: they are shed after the queue time.
package admission
