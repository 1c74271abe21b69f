// Package aimd lets a client use the capacity of a remote service without overloading it. It treats a rate-limited
// API or an object store as TCP treats a network. A congestion window bounds the attempts in flight. Successes
// widen the window, and the first overload of each burst narrows it. Other operations wait in a queue.
//
//	lim, err := aimd.New(aimd.Config{})
//	...
//	err = lim.Do(ctx, func(ctx context.Context) error { return upload(ctx, file) })
//
// One limiter is for one limit: a service, a bucket, or an API key. All goroutines that use the service share the
// limiter.
//
//   - [Limiter.Do] runs one operation, with retries.
//   - [Each] runs a function for every item of an iterator, and returns the failures.
//   - [Do] and [Map] are for work that has a result; Map is an iterator.
//   - [Limiter.Acquire] is for callers that make each attempt themselves.
//   - package httplimit has an http.RoundTripper, contrib/awslimit a middleware for the AWS SDK, contrib/miniolimit
//     a transport for minio-go, contrib/grpclimit the interceptors for gRPC.
//
// Two rules keep work safe. fn must be safe to repeat. If a person waits for the result, ctx needs a deadline,
// since Do retries overload until ctx ends.
//
// Other parts, each with ten lines of code in the file docs/parts.md:
//
//   - One call fails now and then: [github.com/aimd-go/aimd/retry], and its Budget for outages.
//   - Retries come too fast, too late, or all together: [github.com/aimd-go/aimd/backoff].
//   - The service refuses most requests, and a refusal costs it too: [github.com/aimd-go/aimd/throttle].
//   - Clients poll every five minutes, all at the same instant: [github.com/aimd-go/aimd/schedule].
//   - A server of your own is overloaded: [github.com/aimd-go/aimd/admission]; [github.com/aimd-go/aimd/tag] marks
//     requests.
//   - Clients in the field must send less, now, without a release: [github.com/aimd-go/aimd/remote].
//   - A person wants to see a limiter at work: [github.com/aimd-go/aimd/live], contrib/aimdprom and
//     contrib/aimdotel.
//   - A strategy is to be tried on a model of your service: [github.com/aimd-go/aimd/sim].
//
// What happens if
//   - the service refuses: the first refusal of a burst cuts the window, and the other refusals do not. The refused
//     operations wait at the front of the queue.
//   - the service continues to refuse: from the second cut in a row, with no answer accepted in between, all
//     operations pause, from 50 ms to 5 s, twice as long each time. If a law spaces its sends, its gap replaces the
//     pauses. From the fifth cut a Retry-After pauses all operations.
//   - the deadline of an operation comes before the end of a pause for all, or of the wait for a quota: the
//     operation fails at once, with the answer that asked for the wait.
//   - the service has never answered: operations fail after 10 s ([Config].FirstContact). After the first answer
//     operations wait through outages until the context ends. "No such host" counts as an outage: some systems
//     report a dead network in this way.
//   - a waiting caller's context ends: the caller returns at once. If its turn came at that moment, the slot goes
//     to the next operation.
//   - a permit is released twice: the second release has no effect, and Snapshot.Late counts it.
//
// Settings follow one rule in all packages. A zero is the default. A wrong value is an error of the constructor, a
// [github.com/aimd-go/aimd/setting.Error], with the field's name, the value and the allowed values. A required
// argument that is nil is an error of the constructor. Constructors without an error result panic.
//
// The parts of the text by name: the congestion window is [github.com/aimd-go/aimd/window], the queue is
// [github.com/aimd-go/aimd/queue], and [github.com/aimd-go/aimd/limiter] decides when an operation is sent. This
// package adds a lock, goroutines that wait, contexts and a clock:
//
//	     Acquire, Do, Each                                  the service
//	            |                                                ^
//	            v            +------------------------------+    |
//	1 try --> full? --yes--> | 2 queue -> 4 pause, window --|----+ 5 attempt
//	                         |    ^                         |    |
//	            +--overload--|--- 3 front                   |    |
//	            |            +------------------------------+    |
//	            +--- classify <------- 6 answer -----------------+
//
// The laws are here: [Probe], which needs no tuning, and [Tahoe] and [Reno] of "Improve on exponential backoff".
// The file docs/sources.md lists the texts behind the package, and docs/design.md the rules and the measurements.
package aimd
