// Package backoff has the delays between a failed attempt and the next attempt: "If you retry, back off!" and
// "Jitter everything!" ([SafeClients]).
//
// It is pure: a [Backoff] is a value, a [State] says how far the operation is, and the random source is
// an argument. Package retry decides whether to retry, and waits.
//
// Most callers want Exponential{Jitter: Full()}, which is quick at first and spreads best. Its settings make the
// forms of the texts: [Ethernet] and [Syncmusings] are Min, Min*Factor, Min*Factor^2 and so on up to Max, with
// jitter. Compound is the loop of [Crash], each delay grown from the delay before. LastTry is the growing waits of
// [Clojure], then one last try; with jitter it is the capped retries of [SafeClients]. [Check] says whether the
// settings are right. A delay is never negative and never longer than [MaxDelay], under any settings.
//
// The order of cap and jitter makes a difference. In [Crash] the cap comes first, and the jitter grows into the
// next delay. In [Ethernet] and [Syncmusings] the jitter comes first, which is CapLast. [Clojure] and [SafeClients]
// end at the bound. The loop of [SafeClients] runs "while not success && delay <= period", also at a delay equal to
// the bound, which is the nanosecond below.
//
// # Delays
//
// In seconds, before retries 1 to 10: the shortest and the longest delay. With Normal, the delays one standard
// deviation to either side, at each retry the same if compound. Fields are in order of declaration.
//
//	Exponential{}
//	    0.1  0.2  0.4  0.8  1.6  3.2  6.4  12.8  25.6  30
//	Exponential{Jitter: Full()}
//	    0-0.1  0-0.2  0-0.4  0-0.8  0-1.6  0-3.2  0-6.4  0-12.8  0-25.6  0-30
//	Exponential{Jitter: Equal()}
//	    0.05-0.1  0.1-0.2  0.2-0.4  0.4-0.8  0.8-1.6  1.6-3.2  3.2-6.4  6.4-12.8  12.8-25.6  15-30
//	Exponential{Jitter: Proportional(0.5)}
//	    0.05-0.15  0.1-0.3  0.2-0.6  0.4-1.2  0.8-2.4  1.6-4.8  3.2-9.6  6.4-19.2  12.8-38.4  15-45
//	Exponential{Jitter: Normal(0.1)}
//	    0.09-0.11  0.18-0.22  0.36-0.44  0.72-0.88  1.44-1.76  2.88-3.52  5.76-7.04  11.5-14.1  23-28.2  27-33
//	Crash, blue:  Exponential{100ms, 10min, 2.7, Normal(0.1), Compound}
//	    0.1  0.243-0.297  0.59-0.882  1.43-2.62  3.49-7.78  8.47-23.1  20.6-68.6  50-204  122-605  295-660
//	Crash, green: Exponential{1s, 5min, 1.5, Normal(0.1), Compound}
//	    1  1.35-1.65  1.82-2.72  2.46-4.49  3.32-7.41  4.48-12.2  6.05-20.2  8.17-33.3  11-54.9  14.9-90.6
//	Ethernet: Exponential{10ms, 1s, 2, Uniform(1, 2), CapLast}
//	    0.01-0.02  0.02-0.04  0.04-0.08  0.08-0.16  0.16-0.32  0.32-0.64  0.64-1  1  1  1
//	Clojure: Exponential{1s, 10s, 2, LastTry}
//	    1  2  4  8  no more
//	SafeClients: Exponential{10s, 300s + 1ns, 2, Proportional(0.5), LastTry}
//	    5-15  10-30  20-60  40-120  80-240  no more
//	Syncmusings: Exponential{50ms, 30s, 2, Proportional(0.6), CapLast}
//	    0.02-0.08  0.04-0.16  0.08-0.32  0.16-0.64  0.32-1.28  0.64-2.56  1.28-5.12  2.56-10.2  5.12-20.5  10.2-30
//
// The 0.6 and the order of Syncmusings are ours, and the 1 s of Ethernet is ours.
//
// [NewPlan] computes a Max with which a service can bear all its clients, and the time until the clients notice its
// return.
//
// # Sources
//
// Names in brackets are texts: "Exponential Backoff or how not to crash a server" ([Crash], 2014), "Exponential
// Backoff in Distributed Systems" ([Ethernet], 2009), "Exponential Backoff" ([Clojure], 2015), "Safe Client
// Behaviour" ([SafeClients], 2018) and "Improve on exponential backoff" ([Syncmusings], 2019). The file
// docs/sources.md says more about each text.
//
// [Crash]: https://sudonull.com/post/110101-Exponential-Backoff-or-how-not-to-crash-a-server
// [Ethernet]: https://dthain.blogspot.com/2009/02/exponential-backoff-in-distributed.html
// [Clojure]: https://ericnormand.me/article/exponential-backoff
// [SafeClients]: https://www.usenix.org/conference/srecon18asia/presentation/goh
// [Syncmusings]: https://www.aeoncase.com/blog/posts/improve-on-exponential-backoff/
package backoff
