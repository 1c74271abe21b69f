// Package aimdgrpc puts a limiter of package aimd in front of a gRPC client, and
// admission in front of a gRPC server.
//
// At the client every call, and every stream, waits for a slot of the window
// before it is sent, and how it ends is what the window learns from:
//
//	lim, err := aimd.NewReno(aimd.WithFactor(0.9))
//	...
//	conn, err := grpc.NewClient(target, append(aimdgrpc.Limit(lim), creds)...)
//
// Use the client as before, from as many goroutines as you like. A refused call is not
// tried again by itself; Do of the same limiter does that, and the call then uses the
// slot that Do has:
//
//	err = lim.Do(ctx, func(ctx context.Context) error {
//		reply, err = client.Get(ctx, request)
//		return err
//	})
//
// [Retry] does the same, or what a retry.Policy says, for every call of a client.
//
// A stream holds its slot until RecvMsg returns an error (io.EOF is one), SendMsg one
// other than io.EOF, the context ends, or the connection is closed. With [SlotPerMessage]
// it holds one only while a message is unanswered.
//
// The limiter's guards (aimd.WithGuard: a throttle, a retry budget) are asked before
// each call, unless Do has asked them. [Tag] tells the server about each call.
//
// Where the server chooses by criticality, as Admit does, give each criticality a
// connection and a limiter of its own: the refusals of background work would else
// narrow the window of interactive work too.
//
// At the server, [Admit] puts an admission.Controller in front of all services: so
// many calls at a time, a short queue, and the rest is shed, the least critical first.
//
// What the limiter is told: RESOURCE_EXHAUSTED and UNAVAILABLE are overload,
// DEADLINE_EXCEEDED is a timeout, a final answer such as NOT_FOUND is a client
// error, every other code neutral. A RetryInfo in the status, and the trailer
// grpc-retry-pushback-ms, are the service's Retry-After.
// See [Classify]. The limiter's own classifier has the last word.
//
// What happens if
//   - a stream is never read: it holds its slot until its context ends or the
//     connection is closed. CloseSend alone ends nothing. gRPC itself keeps the stream's
//     resources as long, see grpc.ClientConn.NewStream.
//   - a goroutine keeps a stream open while it makes other calls through the same
//     limiter: it needs several slots at a time, and when all are held by
//     goroutines like it none gets on. Use SlotPerMessage, or a limiter for each.
//   - a stream that was opened within Do outlives it: it goes on without a slot, since
//     Do gives its own back. Let the stream end within Do.
//   - a stream never ends, such as a watch: it holds its slot for ever. Open it on a
//     connection without the limiter.
//   - a call's context ends while it waits: it leaves the queue, nothing is sent,
//     and the error is as [Limit] says.
//   - the deadline passes after the call was sent: the law is told of a timeout if the
//     attempt had at least half of the call's time. If the wait for the slot took most of
//     it, the queue was too long, not the service too slow: neutral. A deadline that
//     passes while no RecvMsg or SendMsg runs is neutral too: the reader was slow.
//   - the caller cancels: neutral.
//   - something inside panics: the slot is released, the panic goes on.
//
// gRPC retries by itself, below all interceptors: what the service config's retryPolicy
// says, and what the server has certainly not seen ("transparent retries"). All of that
// is one attempt here, and hides refusals from the window. So let Do retry, and switch
// the retryPolicy off with grpc.WithDisableRetry. For the same reason an interceptor that
// retries comes before those of Limit, so that each of its attempts takes a slot.
//
// A call that waits for a connection (grpc.WaitForReady, or the first one) holds its slot
// meanwhile. If no connection can be made, calls fail with UNAVAILABLE at once, and the
// limiter pauses.
package aimdgrpc
