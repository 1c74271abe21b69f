package aimdgrpc

import (
	"google.golang.org/grpc"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/limiter"
)

var NotSent = notSent

func UnaryClientInterceptor(l *limiter.Limiter) grpc.UnaryClientInterceptor {
	return newClient(l).unary
}
func StreamClientInterceptor(l *limiter.Limiter) grpc.StreamClientInterceptor {
	return newClient(l).stream
}

func ServerInterceptors(c *admission.Controller, s ServerConfig) (grpc.UnaryServerInterceptor, grpc.StreamServerInterceptor, error) {
	g, err := newServer(c, s)
	if err != nil {
		return nil, nil, err
	}
	return g.unary, g.stream, nil
}
