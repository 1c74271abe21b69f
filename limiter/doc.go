// Package limiter bounds the attempts in flight by a congestion window and
// makes the rest wait.
//
// [Core] is the pure part: window, queue and gate, driven by events with the
// time as an argument. [Limiter] is the driver around it: one lock, goroutines
// that wait, contexts, a clock. Most users make a Limiter with NewReno or
// NewTahoe of [github.com/aimd-go/aimd] and use Do, Each or Acquire.
//
//	     Acquire, Do, Each                                  the service
//	            |                                                ^
//	            v            +------ Core ------------------+    |
//	1 try --> full? --yes--> | 2 queue --> 4 gate, window --|----+ 5 attempt
//	                         |    ^                         |    |
//	            +--overload--|--- 3 front                   |    |
//	            |            +------------------------------+    |
//	            +--- classify <------- 6 answer -----------------+
//
// What happens if
//   - the service refuses: the first refusal of a burst cuts the window, the
//     others count as part of it; the operations wait at the front of the queue.
//   - it refuses and goes on refusing: from the second cut in a row on, with no
//     success in between, the gate shuts for everybody, for a pause that doubles
//     from 50 ms to 5 s. From the fifth on it shuts for the Retry-After, if there
//     is one, and then the window starts small.
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
