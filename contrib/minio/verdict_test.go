package aimdminio_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"

	aimdminio "github.com/aimd-go/aimd/contrib/minio"
	"github.com/aimd-go/aimd/limiter"
)

func TestClassify(t *testing.T) {
	overload := limiter.Verdict{Outcome: limiter.Overload, Retry: true}
	again := limiter.Verdict{Outcome: limiter.Neutral, Retry: true}
	final := limiter.Verdict{Outcome: limiter.Neutral}
	for _, c := range []struct {
		name string
		err  error
		want limiter.Verdict
	}{
		{"code", minio.ErrorResponse{Code: "SlowDown", StatusCode: 503}, overload},
		{"code in a 200", minio.ErrorResponse{Code: "SlowDown", StatusCode: 200}, overload},
		{"unknown code in a 200", minio.ErrorResponse{Code: "NoSuchUpload", StatusCode: 200}, final},
		{"no document", minio.ErrorResponse{Code: "503 Service Unavailable", StatusCode: 503}, overload},
		{"429", minio.ErrorResponse{Code: "Other", StatusCode: 429}, overload},
		{"504", minio.ErrorResponse{Code: "Other", StatusCode: 504}, limiter.Verdict{Outcome: limiter.Timeout, Retry: true}},
		{"500", minio.ErrorResponse{Code: "InternalError", StatusCode: 500}, again},
		{"499", minio.ErrorResponse{Code: "Other", StatusCode: 499}, again},
		{"520", minio.ErrorResponse{Code: "Other", StatusCode: 520}, again},
		{"404", minio.ErrorResponse{Code: "NoSuchKey", StatusCode: 404}, final},
		{"wrapped", fmt.Errorf("photo: %w", minio.ErrorResponse{Code: "SlowDown", StatusCode: 503}), overload},
		{"not minio-go's", errors.New("other"), limiter.Verdict{}},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, aimdminio.Classify(c.err)) })
	}
}

// A connection closed before the answer comes from minio-go as a text.
func TestHungUp(t *testing.T) {
	s := newStore(t, 0, 0, func(_ http.ResponseWriter, r *http.Request) bool {
		panic(http.ErrAbortHandler)
	})
	l := newLimiter(t)
	err := put(t.Context(), s.client(t, l, func(o *minio.Options) { o.MaxRetries = 1 }), "a", "x")
	require.Error(t, err)
	require.Equal(t, limiter.Verdict{Outcome: limiter.Neutral, Retry: true}, aimdminio.Classify(err), "%v", err)
	require.EqualValues(t, 1, l.Snapshot().Neutrals)
	requireIdle(t, l)
}
