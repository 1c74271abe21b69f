// Package admission decides at a server which requests are served, which wait
// a little, and which are shed: the other end of what package limiter is at the
// client. Safe Client Behaviour: "Safer clients: Move control to the server!"
//
// Most users want httplimit.Handler or the server interceptors of contrib/grpc,
// which put a [Controller] in front of a service.
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
// A request that finds the limit reached waits in a short queue. Places that come
// free go to the most critical first, among equals to who came first. When the
// queue is full the one who is worth the least is shed: the least critical,
// among equals a retry before a first attempt ("Retry or initial request?",
// Safe Client Behaviour), and then the latest. That may be the one who came, or one who
// waits and is displaced. Who waited for the queue time is shed as well: in an
// overload that lasts, the client has given up or soon will. A [Rule] can put
// requests with certain tags first or last.
//
// A retry of something critical still goes before the first attempt of something
// that is less so.
//
// What is shed gets a jittered Retry-After, 0.5 to 1.5 times a mean: as long as all
// those will take that were told to come back and have not yet been due, so that
// a thousand shed in an outage come back over as long as it takes to serve a
// thousand, and no second sees more than 1.5 times its share of them.
//
// What happens if
//   - the client goes away while it waits: its context ends, and it leaves the
//     queue at once.
//   - it goes away at the moment that its turn comes: it gets its permit, as if it
//     had gone a moment later.
//   - a permit is released twice: the second release is an error and changes nothing.
//   - critical requests alone are too many: they fill the queue, everything else
//     is shed, and so are the latest of them.
//   - less critical requests never get their turn: they are shed after the queue
//     time. Nothing waits for longer.
package admission
