package aimdminio_test

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"
)

// A wrong port is told within 10 s, for requests with a body in their answer and without.
func TestAWrongPort(t *testing.T) {
	for name, call := range map[string]func(context.Context, *minio.Client) error{
		"PutObject": func(ctx context.Context, c *minio.Client) error { return put(ctx, c, "k", "x") },
		"StatObject": func(ctx context.Context, c *minio.Client) error {
			_, err := c.StatObject(ctx, bucket, "k", minio.StatObjectOptions{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, 8, 0, nil)
				l := newLimiter(t)
				c := s.client(t, l, func(o *minio.Options) {
					tr := s.transport()
					tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
						return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
					}
					o.Transport = tr
				})
				start := time.Now()
				err := call(t.Context(), c)
				require.ErrorContains(t, err, "nobody answers there")
				require.ErrorContains(t, err, "connection refused")
				require.Equal(t, "NoContact", minio.ToErrorResponse(err).Code)
				require.InDelta(t, 10, time.Since(start).Seconds(), 1)
				requireIdle(t, l)
			})
		})
	}
}
