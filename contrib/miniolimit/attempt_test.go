package miniolimit_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/miniolimit"
	"github.com/aimd-go/aimd/internal/attempttest"
)

// A request ends its attempt in each way in which it may end.
func TestTheLifeOfARequest(t *testing.T) {
	ok := func(req *http.Request) *http.Response {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Etag": {`"x"`}}, Body: http.NoBody, Request: req}
	}
	attempttest.Run(t, func(ctx context.Context, l *aimd.Limiter, send func(context.Context) error) error {
		opts := &minio.Options{Region: "us-east-1", Transport: attempttest.Trip(send, ok)}
		require.NoError(t, miniolimit.Limit(opts, l))
		c, err := minio.New("store.example", opts)
		require.NoError(t, err)
		return put(ctx, c, "k", "x")
	})
}
