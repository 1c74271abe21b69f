// Package limiter bounds the attempts in flight by a congestion window and
// makes the rest wait.
//
// A [Limiter] is a driver around a pure core (internal/core): window, queue and
// pauses, driven by events with the time as an argument. The driver has one lock,
// goroutines that wait, contexts, a clock. Most users make a Limiter with New of
// [github.com/aimd-go/aimd] and use Do, Each or Acquire.
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
//   - the service refuses: the first refusal of a burst cuts the window, the
//     others count as part of it; the operations wait at the front of the queue.
//   - it refuses and goes on refusing: from the second cut in a row on, with nothing
//     accepted in between, everybody pauses, twice as long each time, from 50 ms to
//     5 s; a law that spaces its sends below a window of one does that by its gap.
//     From the fifth on the Retry-After, if there is one, holds everybody, and then
//     the window starts small.
//   - the service has never answered: operations fail after 10 s (Config.FirstContact). If it
//     goes away later, operations wait for it until their context ends.
//   - there is an [attempt.Policy]: it decides which failed attempts of Do and Each are followed by
//     another; without one the classifier does. Package retry has one.
//   - there are guards ([attempt.Guard]), such as a throttle or a retry budget: they are asked
//     before each attempt waits for anything, and what one refuses fails at once.
//   - a waiting caller's context ends: it leaves at once, and if its turn came
//     at that moment the slot goes to the next one.
//   - fn begins something with the context that it was given, such as another Do
//     of this limiter: that waits for no second slot.
//   - fn panics: the permit is released, the panic goes on.
//   - an attempt is released twice: the second release gives [ErrReleased] and
//     changes nothing.
package limiter
