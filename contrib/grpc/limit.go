package aimdgrpc

import (
	"google.golang.org/grpc"

	"github.com/aimd-go/aimd/limiter"
)

// Limit returns the options that put the limiter in front of all calls of a
// client:
//
//	conn, err := grpc.NewClient(target, append(aimdgrpc.Limit(lim), creds)...)
//
// A call that gets no slot fails with an [attempt.Error] of no attempt, so it may be
// tried again even where it is not idempotent. (Of a stream with SlotPerMessage, this
// message was not sent, and the stream is over.) Its reason is limiter.ErrClosed,
// attempt.ErrQueueFull, the error of a guard, or that of the context. To gRPC it is a
// status: that of the context's end, CANCELLED if the limiter is closed, as of a
// connection that is closing, else RESOURCE_EXHAUSTED: what ran out is what this client
// allows itself. To limiters it is neutral and final.
//
// One limiter stands for one service (or tenant, or whatever has a limit of its
// own). Retry, and other interceptors that retry, come before these options.
func Limit(l *limiter.Limiter) []grpc.DialOption {
	d := newDoor(l)
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(d.unary), grpc.WithChainStreamInterceptor(d.stream)}
}
