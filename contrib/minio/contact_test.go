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

	"github.com/aimd-go/aimd/attempt"
)

// A wrong port ends with the tries of minio-go, and the error has the reason.
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
				require.ErrorIs(t, err, attempt.ErrNoContact)
				require.ErrorIs(t, err, syscall.ECONNREFUSED)
				require.Less(t, time.Since(start), 40*time.Second)
				requireIdle(t, l)
			})
		})
	}
}
