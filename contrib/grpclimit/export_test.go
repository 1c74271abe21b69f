package grpclimit

import (
	"google.golang.org/grpc"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
)

var (
	NotSent      = notSent
	ErrForbidden = errForbidden

	RetryInterceptor = retried
)

func UnaryClientInterceptor(l *aimd.Limiter) grpc.UnaryClientInterceptor {
	return newClient(l).unary
}
func StreamClientInterceptor(l *aimd.Limiter) grpc.StreamClientInterceptor {
	return newClient(l).stream
}

func ServerInterceptors(c *admission.Controller, s ServerConfig) (grpc.UnaryServerInterceptor, grpc.StreamServerInterceptor, error) {
	g, err := newServer(c, s)
	if err != nil {
		return nil, nil, err
	}
	return g.unary, g.stream, nil
}
