// Package window is the congestion window of [Improve on exponential backoff] (Syncmusings, 2019; "the text" in
// this package). It bounds the attempts in flight, and spaces their sends. Answers change both.
//
// It is for authors of a [Law]. Other programs begin with aimd.New of [github.com/aimd-go/aimd].
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
// The other overloads of the burst have no effect: their attempts were in flight at the cut, so they are
// in the set "ignored".
//
// [Improve on exponential backoff]: https://github.com/aimd-go/aimd/blob/main/docs/sources.md
package window
