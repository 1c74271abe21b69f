package aimdminio_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
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

type base func(*http.Request) (*http.Response, error)

func (b base) RoundTrip(r *http.Request) (*http.Response, error) { return b(r) }

// A TLS that does not fit is told at once; minio-go alone tries it for 17 seconds.
func TestAWrongTLS(t *testing.T) {
	for name, wrong := range map[string]error{
		"certificate": &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
		"no TLS":      tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t, 8, 0, nil)
				l := newLimiter(t)
				calls := 0
				c := s.client(t, l, func(o *minio.Options) {
					o.Transport = base(func(*http.Request) (*http.Response, error) {
						calls++
						return nil, wrong
					})
				})
				require.ErrorContains(t, put(t.Context(), c, "k", "x"), wrong.Error())
				require.Equal(t, 1, calls)
				requireIdle(t, l)
			})
		})
	}
}
