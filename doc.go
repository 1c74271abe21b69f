// Package aimd lets a client use the capacity of a remote service without overloading it. It treats a
// rate-limited API or an object store as TCP treats a network: a congestion window bounds the attempts in
// flight, successes widen it, the first overload of each burst narrows it, and other operations wait in a
// queue.
//
//	lim, err := aimd.New()
//	...
//	err = lim.Do(ctx, func(ctx context.Context) error { return upload(ctx, file) })
//
// One limiter stands for one service (or bucket, or API key: whatever has a limit of its own) and is
// shared by all goroutines that use it.
//
//   - [Limiter.Do] runs one operation, with retries.
//   - [Each] runs a function for every item of an iterator.
//   - [Value] and [Map] are the two for work that has a result.
//   - [Limiter.Acquire] is for callers that make each attempt themselves.
//   - package httplimit has an http.RoundTripper, contrib/aws a middleware for the AWS SDK, contrib/minio
//     a transport for minio-go, contrib/grpc the interceptors for gRPC.
//
// Two rules keep work safe: fn must be safe to repeat, and ctx needs a deadline if a person waits for the
// result, since Do retries overload until ctx ends.
//
// Other parts, each with ten lines of code in the file docs/parts.md:
//
//   - One call fails now and then: [github.com/aimd-go/aimd/retry], and its Budget for outages.
//   - Retries come too fast, too late, or all together: [github.com/aimd-go/aimd/backoff].
//   - The service refuses most requests, and a refusal costs it too: [github.com/aimd-go/aimd/throttle].
//   - Clients poll every five minutes, all at the same instant: [github.com/aimd-go/aimd/schedule].
//   - A server of your own is overloaded: Handler of [github.com/aimd-go/aimd/httplimit], or
//     [github.com/aimd-go/aimd/admission] below it; [github.com/aimd-go/aimd/tag] marks requests.
//   - Clients in the field must send less, now, without a release: [github.com/aimd-go/aimd/remote].
//   - A person wants to see a limiter at work: [github.com/aimd-go/aimd/live], contrib/prometheus and
//     contrib/otel.
//   - A strategy is to be tried on a model of your service: [github.com/aimd-go/aimd/sim].
//
// Settings follow one rule in all packages. A zero is the default. A wrong value is an error of the
// constructor, a [SettingError], with the field's name, the value and the allowed values. A required
// argument that is nil is an error of a constructor that returns errors, and a panic with a sentence in a
// constructor that does not.
//
// Below this package: [github.com/aimd-go/aimd/limiter] has the limiter, [github.com/aimd-go/aimd/window] the
// window and the contract of a control law. The laws are here: [Probe], which needs no tuning, and [Tahoe]
// and [Reno] of "Improve on exponential backoff". The file docs/sources.md lists the texts behind all this,
// docs/design.md the rules and the measurements.
package aimd
