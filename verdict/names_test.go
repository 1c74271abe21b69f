package verdict_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/verdict"
)

// RecordHeaderError has the name of an error of crypto/tls, in another package.
type RecordHeaderError struct{ Msg string }

func (RecordHeaderError) Error() string { return "tls" }

// We do not link crypto/tls and net/http for the errors and answers of theirs: a name or a text of Go that changes
// fails here.
func TestErrorsOfTLSAreKnownByName(t *testing.T) {
	for _, c := range []struct {
		err       error
		unreached bool
	}{
		{&tls.CertificateVerificationError{Err: errors.New("expired")}, true},
		{tls.RecordHeaderError{}, true},
		{http.ErrSchemeMismatch, true},
		{RecordHeaderError{}, false},
		{fmt.Errorf("the service's proxy: %s", http.ErrSchemeMismatch), false},
		{errors.New("tls"), false},
	} {
		require.Equal(t, c.unreached, verdict.Read(c.err).Unreached, "%T", c.err)
		require.Equal(t, c.unreached, verdict.Read(&url.Error{Op: "Get", URL: "https://s", Err: c.err}).Unreached, "%T", c.err)
	}
}

// heldError holds an answer.
type heldError struct{ Response *http.Response }

func (*heldError) Error() string { return "failed" }

// openError holds an answer, or anything else, in a field of any type.
type openError struct{ Answer any }

func (openError) Error() string { return "failed" }

// Response has the name of the answer of net/http, in another package.
type Response struct{ StatusCode int }

func TestAnswersOfHTTPAreKnownByName(t *testing.T) {
	body := &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"error":{"code":"SlowDown"}}`))}
	page := &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"7"}}, Body: http.NoBody}
	for _, c := range []struct {
		err  error
		want verdict.Verdict
	}{
		{&heldError{body}, overload},
		{openError{&http.Response{StatusCode: 503}}, overload},
		{openError{*page}, unknown},
		{openError{(*http.Response)(nil)}, unknown},
		{openError{nil}, unknown},
		{openError{&Response{503}}, unknown},
		{openError{page}, verdict.Verdict{Meaning: overload.Meaning, Wait: 7e9}},
	} {
		require.Equal(t, c.want, verdict.Classify(c.err), "%#v", c.err)
	}
	left, err := io.ReadAll(body.Body)
	require.NoError(t, err)
	require.Equal(t, `{"error":{"code":"SlowDown"}}`, string(left), "the body is still the caller's")
}
