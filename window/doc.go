// Package window is the congestion window of [Improve on exponential backoff]
// (Syncmusings, 2019; "the text" in this package): how many attempts may be in
// flight, and how answers change that.
//
// It is pure: a value with methods, no goroutine, lock, clock or randomness.
// Most users want [github.com/aimd-go/aimd], which puts a queue and a lock
// around it; this package is for authors of a [Law].
//
//	              success: cwnd + 1                 success: cwnd + 1/cwnd
//	            +-------------------+             +------------------------+
//	            v                   |             v                        |
//	start --> SLOW START  (flying < ssthresh) --> CONGESTION AVOIDANCE ----+
//	            ^                                 |
//	            |   first overload of a burst:    |
//	            |   ssthresh = factor * cwnd      |
//	            |                                 |
//	            +-- Tahoe: cwnd = initial  <------+
//	                Reno:  cwnd = ssthresh ------> CONGESTION AVOIDANCE
//
// The other overloads of the burst change nothing: their attempts were in
// flight at the cut, so they are in the set "ignored".
//
// [Improve on exponential backoff]: https://github.com/aimd-go/aimd/blob/main/docs/sources.md
package window
