package aimdgrpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
)

// The price of each part, on a call over the loopback.
func BenchmarkCall(b *testing.B) {
	l, err := aimd.NewReno()
	require.NoError(b, err)
	tags, err := aimdgrpc.Tag("bench", "1")
	require.NoError(b, err)
	controller, err := admission.New(admission.Fixed(64), admission.Config{})
	require.NoError(b, err)
	admit, err := aimdgrpc.Admit(controller, aimdgrpc.ServerConfig{})
	require.NoError(b, err)
	for _, c := range []struct {
		name   string
		client []grpc.DialOption
		server []grpc.ServerOption
	}{
		{"plain", nil, nil},
		{"Limit", aimdgrpc.Limit(l), nil},
		{"Tag", tags, nil},
		{"Admit", nil, admit},
	} {
		client, _ := dial(b, start(b, &service{}, c.server...), c.client...)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call(context.Background(), client); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The interceptor alone.
func BenchmarkUnaryClientInterceptor(b *testing.B) {
	l, err := aimd.NewReno()
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if err := invoke(context.Background(), watched{Limiter: l}, func(context.Context) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
