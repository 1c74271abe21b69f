package verdict_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/verdict"
)

// knows is a Factual error, perhaps around another.
type knows struct {
	error
	facts verdict.Facts
}

func (k knows) Facts() verdict.Facts { return k.facts }
func (k knows) Unwrap() error        { return k.error }

// The outermost error that knows a meaning decides. A wait alone counts for what Classify reads.
func TestErrorsThatKnowTheirVerdict(t *testing.T) {
	means := func(m answer.Meaning, wait time.Duration, err error) error {
		return fmt.Errorf("call: %w", knows{err, verdict.Facts{Verdict: verdict.Verdict{Meaning: m, Wait: wait}}})
	}
	reason := errors.New("mine")
	for _, c := range []struct {
		err  error
		want verdict.Verdict
	}{
		{means(answer.Passing, 0, status{HTTP: 503}), again},
		{means(answer.Unknown, 0, means(answer.Passing, 0, nil)), again},
		{means(answer.Passing, 0, means(answer.Fault, 0, nil)), again},
		{means(answer.Unknown, time.Second, status{HTTP: 503}), after(overload, time.Second)},
		{means(answer.Unknown, time.Second, status{HTTP: 400}), after(overload, time.Second)},
		{means(answer.Unknown, 0, status{HTTP: 503}), overload},
		{means(answer.Passing, 0, context.Canceled), again},
		{knows{io.EOF, verdict.Facts{Verdict: verdict.Verdict{Reason: reason}}}, verdict.Verdict{Reason: reason}},
		{&attempt.Error{Attempts: 1, Reason: context.Canceled, Cause: means(answer.Refused, 0, nil)}, final},
		{chain{means(answer.Passing, 0, nil)}, again},
	} {
		assert.Equal(t, c.want, verdict.Classify(c.err), "%v", c.err)
	}
}

var errOpaque = errors.New("the driver failed")

// chain hides its errors from Unwrap, as go-multierror does.
type chain []error

func (c chain) Error() string      { return "several" }
func (c chain) As(target any) bool { return errors.As(c[0], target) }

// Whatever an error of a tree says of its reach holds: what guards are told depends on it.
func TestErrorsThatKnowTheirReach(t *testing.T) {
	reach := func(r verdict.Reach, err error) error { return knows{err, verdict.Facts{Reach: r}} }
	for _, c := range []struct {
		err     error
		notSent bool
		told    string
	}{
		{reach(verdict.Unsaid, errOpaque), false, "neutral"},
		{reach(verdict.Unsent, errOpaque), true, "none"},
		{reach(verdict.Unreached, errOpaque), false, "none"},
		{reach(verdict.Unanswered, errOpaque), false, "none"},
		{reach(verdict.Answered, io.EOF), false, "neutral"},
		{reach(verdict.Unanswered, reach(verdict.Answered, errOpaque)), false, "neutral"},
		{reach(verdict.Unanswered, reach(verdict.Unsent, errOpaque)), true, "none"},
		{&attempt.Error{Attempts: 2, Cause: reach(verdict.Unsent, errOpaque)}, false, "neutral"},
	} {
		assert.Equal(t, c.told == "none", verdict.Read(c.err).Unanswered, "%v", c.err)
		assert.Equal(t, c.notSent, verdict.NotSent(c.err), "%v", c.err)
	}
}

// An attempt without an error has a tree that all share: the race detector looks at it here.
func TestNoErrorIsReadByMany(t *testing.T) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			assert.False(t, verdict.NotSent(nil))
			assert.False(t, verdict.CutOff(nil))
			assert.Zero(t, verdict.Classify(nil))
		})
	}
	wg.Wait()
}

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

// grpcNames are the codes of gRPC.
var grpcNames = strings.Fields("OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED " +
	"RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED")

// meant is a meaning as a file of answer/testdata has it.
var meant = map[string]verdict.Verdict{
	"unclear": unclear, "fault": refused, "final": final, "passing": again, "slow": timeout, "refused": overload, "guessed": guessed,
	"spent": spent, "closed": closed, "hurt": {Meaning: answer.Hurt},
}

// strange is the error of a row: an SDK's code, gRPC's status, a reply of mail, or a SQLSTATE.
func strangeError(t *testing.T, kind, code, message string, wait time.Duration) error {
	t.Helper()
	switch kind {
	case "sdk":
		if code == "" && wait == 0 {
			return errors.New(message)
		}
		status, name, ok := strings.Cut(code, " ")
		n, err := strconv.Atoi(status)
		if !ok || err != nil {
			n, name = 0, code
		}
		return &sdkFailure{Code: name, Message: message, StatusCode: n, RetryAfter: wait}
	case "grpc":
		for i, name := range grpcNames {
			if name == code {
				return told{largeError{grpcError{grpcCode(i)}, message}, wait}
			}
		}
	case "mail":
		n, err := strconv.Atoi(code)
		require.NoError(t, err)
		return &textproto.Error{Code: n, Msg: message}
	case "sql":
		if n, err := strconv.Atoi(code); err == nil && len(code) == 4 {
			return &mysqlError{Number: uint16(n), Message: message}
		}
		return sqlError(code)
	}
	require.Fail(t, "no such kind", "%s %s", kind, code)
	return nil
}

type sdkFailure struct {
	Code, Message string
	StatusCode    int
	RetryAfter    time.Duration
}

func (*sdkFailure) Error() string { return "any" }

// told is an error with a wait.
type told struct {
	largeError
	wait time.Duration
}

func (e told) RetryAfter() time.Duration { return e.wait }

// The codes of answer/testdata/codes.txt: what comes without an answer of HTTP.
func TestCodesOfStrangers(t *testing.T) {
	text, err := os.ReadFile("../answer/testdata/codes.txt")
	require.NoError(t, err)
	rows := 0
	for _, line := range strings.Split(string(text), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		part := strings.Split(line, "\t")
		require.Len(t, part, 5, line)
		meaning, asked, _ := strings.Cut(part[0], " ")
		wait, _ := time.ParseDuration(asked)
		want, known := meant[meaning]
		require.True(t, known, line)
		got := verdict.Classify(strangeError(t, part[1], part[2], part[3], wait))
		if got == unknown { // final, or an error of the program's own
			got = final
			if meaning == "unclear" {
				got = unclear
			}
		}
		got.Wait = 0
		assert.Equal(t, want, got, line)
		rows++
	}
	assert.GreaterOrEqual(t, rows, 250)
}
