package aimdaws_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

// responseError is an error as the SDK makes it.
func responseError(status int, code string) error {
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: http.Header{}}},
		Err:      &smithy.GenericAPIError{Code: code},
	}}
}

func TestRetryer(t *testing.T) {
	mine := errors.New("mine")
	r := aimdaws.Retryer(newLimiter(t, aimd.WithClassifier(attempt.FirstOf(func(err error) attempt.Verdict {
		if errors.Is(err, mine) {
			return attempt.Verdict{Outcome: window.Neutral, Retry: true}
		}
		return attempt.Verdict{}
	}, attempt.Classify))))
	for _, c := range []struct {
		err          error
		retry, paced bool
	}{
		{err: responseError(503, "SlowDown"), retry: true, paced: true},
		{err: responseError(503, "Unknown"), retry: true, paced: true},
		{err: responseError(429, "Unknown"), retry: true, paced: true},
		{err: responseError(400, "TooManyRequests"), retry: true, paced: true},
		{err: responseError(400, "RequestTimeout"), retry: true, paced: true},
		{err: responseError(500, "InternalError"), retry: true},
		{err: responseError(502, "Unknown"), retry: true},
		{err: &smithyhttp.RequestSendError{Err: errors.New("broken pipe")}, retry: true},
		{err: mine, retry: true},
		{err: responseError(404, "NoSuchKey")},
		{err: responseError(403, "AccessDenied")},
		{err: &aws.RequestCanceledError{Err: errors.New("any")}},
		{err: &smithyhttp.RequestSendError{Err: &tls.CertificateVerificationError{Err: errors.New("any")}}},
		{err: &smithyhttp.RequestSendError{Err: tls.RecordHeaderError{}}},
		{err: &smithyhttp.RequestSendError{Err: http.ErrSchemeMismatch}},
		{err: errors.New("any")},
	} {
		require.Equal(t, c.retry, r.IsErrorRetryable(c.err), "retry of %v", c.err)
		longest := time.Duration(0)
		for range 100 {
			d, err := r.RetryDelay(3, c.err)
			require.NoError(t, err)
			longest = max(longest, d)
		}
		require.Equal(t, c.paced, longest < 10*time.Millisecond, "delay of up to %v for %v", longest, c.err)
	}
}

// The SDK's quota is 500 tokens, of which each retry costs 5.
func TestRetryerHasNoQuota(t *testing.T) {
	r := aimdaws.Retryer(newLimiter(t))
	for range 1000 {
		_, err := r.GetRetryToken(t.Context(), responseError(503, "SlowDown"))
		require.NoError(t, err)
	}
}

func newTLSServer(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

func TestCertificateThatIsNotTrustedIsFinal(t *testing.T) {
	s := newStore(t)
	s.transport.DialContext = nil // to a real socket
	secure := newTLSServer(t, s)
	l := newLimiter(t)
	err := put(t.Context(), s.client(l, func(cfg *aws.Config) { cfg.BaseEndpoint = aws.String(secure.URL) }), "k", "x")
	var certificate *tls.CertificateVerificationError
	require.ErrorAs(t, err, &certificate)
	requireOutcomes(t, l, outcomes{neutrals: 1})
}
