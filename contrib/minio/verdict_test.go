package aimdminio_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/require"

	aimdminio "github.com/aimd-go/aimd/contrib/minio"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

func TestClassify(t *testing.T) {
	overload := attempt.Verdict{Outcome: window.Overload, Retry: true}
	again := attempt.Verdict{Outcome: window.Neutral, Retry: true}
	for _, c := range []struct {
		name string
		err  error
		want attempt.Verdict
	}{
		{"code", minio.ErrorResponse{Code: "SlowDown", StatusCode: 503}, overload},
		{"code in a 200", minio.ErrorResponse{Code: "SlowDown", StatusCode: 200}, overload},
		{"unknown code in a 200", minio.ErrorResponse{Code: "NoSuchUpload", StatusCode: 200}, attempt.Verdict{}},
		{"no document", minio.ErrorResponse{Code: "503 Service Unavailable", StatusCode: 503}, overload},
		{"429", minio.ErrorResponse{Code: "Other", StatusCode: 429}, overload},
		{"504", minio.ErrorResponse{Code: "Other", StatusCode: 504}, attempt.Verdict{Outcome: window.Timeout, Retry: true}},
		{"500", minio.ErrorResponse{Code: "InternalError", StatusCode: 500}, again},
		{"499", minio.ErrorResponse{Code: "Other", StatusCode: 499}, again},
		{"520", minio.ErrorResponse{Code: "Other", StatusCode: 520}, again},
		{"404", minio.ErrorResponse{Code: "NoSuchKey", StatusCode: 404}, attempt.Verdict{Outcome: window.ClientError}},
		{"wrapped", fmt.Errorf("photo: %w", minio.ErrorResponse{Code: "SlowDown", StatusCode: 503}), overload},
		{"not minio-go's", errors.New("other"), attempt.Verdict{}},
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
	require.Equal(t, attempt.Verdict{Outcome: window.Neutral, Retry: true}, aimdminio.Classify(err), "%v", err)
	require.EqualValues(t, 1, l.Snapshot().Neutrals)
	requireIdle(t, l)
}
