// Package aimd lets a client use all that a remote service will give, and no
// more. It treats a rate-limited API or an object store as TCP treats a
// network: a congestion window bounds the attempts in flight, successes widen
// it, the first overload of each burst narrows it, and the rest waits in a queue.
//
//	lim, err := aimd.NewReno(aimd.WithFactor(0.9))
//	...
//	err = lim.Do(ctx, func(ctx context.Context) error { return upload(ctx, file) })
//
// One limiter stands for one service (or bucket, or API key: whatever has a
// limit of its own) and is shared by all goroutines that use it.
//
//   - [Limiter.Do] runs one operation, with retries.
//   - [Each] runs a function for every item of an iterator.
//   - [Limiter.Acquire] is for those who drive their attempts themselves.
//   - package httplimit has an http.RoundTripper, contrib/aws a middleware for
//     the AWS SDK, contrib/minio a transport for minio-go.
//
// Below this package: [github.com/aimd-go/aimd/limiter] has the limiter,
// [github.com/aimd-go/aimd/window] the window and what a control law is, and
// this package the two laws of seed 4, [Tahoe] and [Reno].
package aimd
