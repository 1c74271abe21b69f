// Package limiter bounds the attempts in flight by a congestion window; other operations wait in a queue.
//
// Begin with New of [github.com/aimd-go/aimd], and use Do or aimd.Each; Acquire is for programs that make
// each attempt themselves. A [Limiter] drives a pure core (internal/core): it adds a lock, goroutines that
// wait, contexts and a clock.
//
//	     Acquire, Do, Each                                  the service
//	            |                                                ^
//	            v            +------ core ------------------+    |
//	1 try --> full? --yes--> | 2 queue -> 4 pause, window --|----+ 5 attempt
//	                         |    ^                         |    |
//	            +--overload--|--- 3 front                   |    |
//	            |            +------------------------------+    |
//	            +--- classify <------- 6 answer -----------------+
//
// What happens if
//   - the service refuses: the first refusal of a burst cuts the window, the others count as part of the
//     burst; the operations wait at the front of the queue.
//   - the service continues to refuse: from the second cut in a row, with no answer accepted in between, all
//     operations pause, from 50 ms to 5 s, twice as long each time; a law that spaces its sends does that by
//     the gap. From the fifth cut a Retry-After pauses all operations, and then the window starts small.
//   - a wait cannot be met, since the deadline of its context ends before a pause for all or the wait for a
//     quota does: the operation fails at once, with the answer that asked for the pause.
//   - the service has never answered: operations fail after 10 s (Rules.FirstContact). Once it has
//     answered, operations wait through outages until the context ends. "No such host" counts as an
//     outage: some systems report a dead network that way.
//   - a waiting caller's context ends: the caller returns at once. If its turn came at that moment the slot
//     goes to the next operation.
//   - a permit is released twice: the second release returns [ErrReleased] and is ignored.
package limiter
