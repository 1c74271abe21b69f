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
// One limiter stands for one service (or tenant, or whatever has a limit of its
// own). Retry, and other interceptors that retry, come before these options.
func Limit(l *limiter.Limiter) []grpc.DialOption {
	d := newDoor(l)
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(d.unary), grpc.WithChainStreamInterceptor(d.stream)}
}
