package aimdaws_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
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

// sends is an HTTP client that answers or fails as told, once, and then well.
type sends struct {
	status int
	body   string
	err    error
	calls  int
}

func (s *sends) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
	if s.calls++; s.calls > 1 {
		s.status, s.body, s.err = http.StatusOK, "", nil
	}
	if s.err != nil {
		return nil, s.err
	}
	return &http.Response{StatusCode: s.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(s.body)), Request: req}, nil
}

func coded(status int, code string) sends {
	return sends{status: status, body: strings.ReplaceAll(slowDown, "SlowDown", code)}
}

// What is tried again, with this package's retryer and with the SDK's own: at once where the window paces
// it, else after the limiter's backoff.
func TestWhatIsTriedAgain(t *testing.T) {
	mine := errors.New("mine")
	classify := attempt.FirstOf(func(err error) attempt.Verdict {
		if errors.Is(err, mine) {
			return attempt.Verdict{Outcome: window.Neutral, Retry: true}
		}
		return attempt.Verdict{}
	}, attempt.Classify)
	for name, c := range map[string]struct {
		sends
		retry, paced bool
	}{
		"SlowDown":        {sends: coded(503, "SlowDown"), retry: true, paced: true},
		"503":             {sends: coded(503, "Unknown"), retry: true, paced: true},
		"429":             {sends: coded(429, "Unknown"), retry: true, paced: true},
		"TooManyRequests": {sends: coded(400, "TooManyRequests"), retry: true, paced: true},
		"RequestTimeout":  {sends: coded(400, "RequestTimeout"), retry: true, paced: true},
		"InternalError":   {sends: coded(500, "InternalError"), retry: true},
		"502":             {sends: coded(502, "Unknown"), retry: true},
		"broken pipe":     {sends: sends{err: errors.New("broken pipe")}, retry: true},
		"mine":            {sends: sends{err: mine}, retry: true},
		"NoSuchKey":       {sends: coded(404, "NoSuchKey")},
		"AccessDenied":    {sends: coded(403, "AccessDenied")},
		"cancelled":       {sends: sends{err: &aws.RequestCanceledError{Err: errors.New("any")}}},
		"certificate":     {sends: sends{err: &tls.CertificateVerificationError{Err: errors.New("any")}}},
		"no TLS":          {sends: sends{err: tls.RecordHeaderError{}}},
		"HTTP to HTTPS":   {sends: sends{err: http.ErrSchemeMismatch}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(t, aimd.WithClassifier(classify))
				client := newStore(t).client(l, func(cfg *aws.Config) { cfg.HTTPClient = &c.sends })
				start := time.Now()
				err := put(t.Context(), client, "k", "x")
				require.Equal(t, c.retry, err == nil, "%v", err)
				if c.retry {
					require.Equal(t, c.paced, time.Since(start) == 0, "%v", time.Since(start))
				}
				requireIdle(t, l)
			})
		})
	}
}

// The SDK's quota is 500 tokens, of which each retry costs 5.
func TestRetryerHasNoQuota(t *testing.T) {
	r := aimdaws.Retryer()
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
