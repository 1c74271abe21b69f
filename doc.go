// Package aimd lets a client use all that a remote service will give, and no
// more. It treats a rate-limited API or an object store as TCP treats a
// network: a congestion window bounds the attempts in flight, successes widen
// it, the first overload of each burst narrows it, and the rest waits in a queue.
//
//	lim, err := aimd.New()
//	...
//	err = lim.Do(ctx, func(ctx context.Context) error { return upload(ctx, file) })
//
// One limiter stands for one service (or bucket, or API key: whatever has a
// limit of its own) and is shared by all goroutines that use it.
//
//   - [Limiter.Do] runs one operation, with retries.
//   - [Each] runs a function for every item of an iterator.
//   - [Value] and [Map] are the two for work that has a result.
//   - [Limiter.Acquire] is for callers that drive their attempts themselves.
//   - package httplimit has an http.RoundTripper, contrib/aws a middleware for
//     the AWS SDK, contrib/minio a transport for minio-go, contrib/grpc the
//     interceptors for gRPC.
//
// Which part for which trouble:
//
//   - Bulk work, or many workers, against a service that refuses what is too
//     much, or that slows down: this package, with [New].
//   - One call fails now and then: [github.com/aimd-go/aimd/retry].
//   - Retries crowd out the real work in an outage: retry.Budget.
//   - Retries come too fast, too late, or all together:
//     [github.com/aimd-go/aimd/backoff].
//   - The service refuses most of what it gets, and refusing costs it too:
//     [github.com/aimd-go/aimd/throttle].
//   - Clients poll every five minutes, all at the same instant:
//     [github.com/aimd-go/aimd/schedule].
//   - A server of your own is asked for more than it can do: Handler of
//     [github.com/aimd-go/aimd/httplimit], or
//     [github.com/aimd-go/aimd/admission] below it, and
//     [github.com/aimd-go/aimd/tag] to tell it what matters.
//   - Clients out there must ask less, now, without a release:
//     [github.com/aimd-go/aimd/remote].
//   - What is it doing right now, and why?
//     [github.com/aimd-go/aimd/live], contrib/prometheus and contrib/otel.
//   - What would a strategy do to my service?
//     [github.com/aimd-go/aimd/sim], and aimd sim on the command line.
//
// The file docs/parts.md has ten lines of code for each, from their Examples.
//
// Below this package: [github.com/aimd-go/aimd/limiter] has the limiter,
// [github.com/aimd-go/aimd/window] the window and what a control law is, and
// this package the law that needs no tuning, [Probe], and those of "Improve on
// exponential backoff", [Tahoe] and [Reno].
// The file docs/sources.md has the texts that all this comes from, docs/design.md
// the rules and what was measured.
package aimd
