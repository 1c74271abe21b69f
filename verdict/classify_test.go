package verdict_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/internal/reason"
	"github.com/aimd-go/aimd/verdict"
)

type apiError struct {
	code   string
	status int
}

func (e apiError) Error() string       { return e.code }
func (e apiError) ErrorCode() string   { return e.code }
func (e apiError) HTTPStatusCode() int { return e.status }

// sqlError is an error of a database, as those of pgx and pq.
type sqlError string

func (e sqlError) Error() string    { return "ERROR (SQLSTATE " + string(e) + ")" }
func (e sqlError) SQLState() string { return string(e) }

// grpcError has the methods of a gRPC status error, whose types this module does not know.
type grpcError struct{ code grpcCode }

type grpcCode uint32

type grpcStatus struct{ code grpcCode }

func (s *grpcStatus) Code() grpcCode        { return s.code }
func (e grpcError) Error() string           { return fmt.Sprintf("rpc error: code = %d", e.code) }
func (e grpcError) GRPCStatus() *grpcStatus { return &grpcStatus{e.code} }

// strange has methods of these names that are something else.
type strange struct{}

func (strange) Error() string      { return "strange" }
func (strange) GRPCStatus() string { return "none" }

// judged knows what it means, unless it is zero, and has a code that says otherwise.
type judged verdict.Verdict

func (judged) Error() string           { return "judged" }
func (j judged) Facts() verdict.Facts  { return verdict.Facts{Verdict: verdict.Verdict(j)} }
func (judged) GRPCStatus() *grpcStatus { return &grpcStatus{8} }

type temporary bool

func (temporary) Error() string     { return "temporary" }
func (t temporary) Temporary() bool { return bool(t) }

var (
	overload = verdict.Verdict{Meaning: answer.Refused}
	timeout  = verdict.Verdict{Meaning: answer.Slow}
	again    = verdict.Verdict{Meaning: answer.Passing}
	final    = verdict.Verdict{Meaning: answer.Final}
	denied   = verdict.Verdict{Meaning: answer.Denied}
	spent    = verdict.Verdict{Meaning: answer.Spent, Reason: reason.ErrQuota}
	closed   = verdict.Verdict{Meaning: answer.Closed, Reason: reason.ErrQuota}
	refused  = verdict.Verdict{Meaning: answer.Fault}
	unclear  = verdict.Verdict{Meaning: answer.Unclear}
	guessed  = verdict.Verdict{Meaning: answer.Guessed}
	unknown  = verdict.Verdict{}
)

func after(v verdict.Verdict, d time.Duration) verdict.Verdict {
	v.Wait = d
	return v
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		want verdict.Verdict
	}{
		{errors.New("any"), unknown},
		{errors.New("object 4291 of 4290"), unknown},
		{errors.New(`POST "/v1": 429 Too Many Requests`), guessed},
		{errors.New("Throttling: Rate exceeded"), guessed},
		{context.Canceled, final},
		{syscall.ENETDOWN, again},
		{syscall.EADDRNOTAVAIL, again},
		{errors.New("http: server closed idle connection"), again},
		{errors.New("http2: server sent GOAWAY and closed the connection; LastStreamID=1999"), again},
		{errors.New("http2: client connection lost"), again},
		{context.DeadlineExceeded, timeout},
		{fmt.Errorf("send: %w", context.Canceled), final},
		{errors.Join(status{HTTP: 503}, context.Canceled), final},

		{status{HTTP: 429}, overload},
		{status{HTTP: 503, After: time.Second}, after(overload, time.Second)},
		{status{HTTP: 504}, timeout},
		{status{HTTP: 500}, unclear},
		{status{HTTP: 600}, final},
		{status{HTTP: 400}, final},
		{status{HTTP: 401, After: time.Minute}, final},
		{status{HTTP: 404}, refused},
		{status{HTTP: 403}, denied},
		{status{HTTP: 403, After: time.Minute}, after(overload, time.Minute)},

		{errors.Join(status{HTTP: 0}, syscall.ECONNREFUSED), again},
		{errors.Join(status{HTTP: 200}, context.DeadlineExceeded), timeout},
		{status{HTTP: 200}, unknown},

		{apiError{"SlowDown", 200}, overload},
		{apiError{"SlowDown", 503}, overload},
		{apiError{"ThrottlingException", 400}, overload},
		{apiError{"RequestTimeout", 400}, timeout},
		{apiError{"InternalError", 200}, unclear},
		{apiError{"QuotaExceeded", 429}, guessed},
		{apiError{"ServiceQuotaExceededException", 402}, spent},
		{apiError{"insufficient_quota", 503}, closed},
		{apiError{"dailyLimitExceeded", 403}, spent},
		{fmt.Errorf("a call: %w", &attempt.Error{Attempts: 1, Reason: reason.ErrQuota, Cause: status{HTTP: 429}}), verdict.Verdict{Meaning: answer.Final, Reason: reason.ErrQuota}},
		{&attempt.Error{Attempts: 1, Reason: reason.ErrNeverAnswered, Cause: syscall.ECONNREFUSED}, verdict.Verdict{Meaning: answer.Final, Reason: reason.ErrNeverAnswered}},
		{&attempt.Error{Attempts: 1, Reason: reason.ErrWait, Cause: status{HTTP: 429}}, verdict.Verdict{Meaning: answer.Final, Reason: reason.ErrWait}},
		{&attempt.Error{Attempts: 1, Cause: status{HTTP: 503}}, overload},
		{&attempt.Error{Attempts: 1, Reason: context.Canceled, Cause: judged(again)}, final},
		{apiError{"rateLimitExceeded", 403}, overload},
		{apiError{"Unheard", 429}, overload},
		{apiError{"AccessDenied", 403}, final},

		{fmt.Errorf("commit: %w", sqlError("40P01")), again},
		{sqlError("23505"), unknown},
		{fmt.Errorf("query: %w", driver.ErrBadConn), again},
		{fmt.Errorf("PutObject: %w", apiError{"SlowDown", 503}), overload},

		{fmt.Errorf("call: %w", grpcError{8}), overload},
		{errors.Join(errors.New("other"), grpcError{8}), overload},
		{errors.Join(status{After: time.Second}, grpcError{8}), after(overload, time.Second)},
		{errors.Join(status{After: time.Second}, grpcError{3}), final},
		{strange{}, unknown},

		{judged(final), final},
		{judged(after(overload, time.Second)), after(overload, time.Second)},
		{fmt.Errorf("call: %w", judged(timeout)), timeout},
		{errors.Join(context.Canceled, judged(again)), again},
		{judged{}, overload},

		{os.ErrDeadlineExceeded, timeout},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, again},
		{&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, again},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, again},
		{syscall.ENETUNREACH, again},
		{fmt.Errorf("write: %w", syscall.EPIPE), again},
		{io.ErrUnexpectedEOF, again},
		{temporary(true), again},
		{temporary(false), unknown},
		{&net.DNSError{IsNotFound: true}, unknown},
		{&net.DNSError{IsTimeout: true}, timeout},
	} {
		assert.Equal(t, c.want, verdict.Classify(c.err), "%#v", c.err)
	}
	for want, codes := range map[verdict.Verdict][]grpcCode{
		overload: {8, 14}, timeout: {4}, refused: {5, 6, 9, 11}, final: {1, 2, 3, 7, 10, 12, 13, 15, 16},
	} {
		for _, code := range codes {
			assert.Equal(t, want, verdict.Classify(grpcError{code}), "%v", code)
		}
	}
}

func TestClassifiersCompose(t *testing.T) {
	teapot := func(err error) verdict.Verdict {
		var s status
		if errors.As(err, &s) && s.HTTP == 418 {
			return overload
		}
		return verdict.Verdict{}
	}
	classify := verdict.FirstOf(teapot, verdict.Classify)
	require.Equal(t, overload, classify(status{HTTP: 418}))
	require.Equal(t, timeout, classify(status{HTTP: 504}))
	require.Equal(t, unknown, verdict.FirstOf(teapot)(io.EOF))
	require.Equal(t, unknown, verdict.FirstOf()(io.EOF))
}

// reset is an error of a stream as net/http has it.
type reset uint32

func (reset) Error() string { return "stream error" }

func (r reset) As(target any) bool {
	v := reflect.ValueOf(target).Elem()
	if v.Kind() != reflect.Struct {
		return false
	}
	v.FieldByName("Code").SetUint(uint64(r))
	return true
}

func TestClassifyStreams(t *testing.T) {
	for code, want := range map[reset]verdict.Verdict{0x1: unknown, 0x2: again, 0x7: overload, 0x8: again, 0xb: overload} {
		assert.Equal(t, want, verdict.Classify(fmt.Errorf("get: %w", code)), code)
	}
}

// An error says what those who only know it by its methods want to know.
func TestAnErrorOfAnOperationWithin(t *testing.T) {
	for _, c := range []struct {
		err             attempt.Error
		timeout, unsent bool
	}{
		{attempt.Error{Reason: errors.New("shut")}, false, true},
		{attempt.Error{Reason: context.DeadlineExceeded}, true, true},
		{attempt.Error{Attempts: 1, Cause: status{HTTP: 503}}, false, false},
		{attempt.Error{Attempts: 1, Cause: unsent{}}, false, true},
		{attempt.Error{Attempts: 2, Cause: unsent{}}, false, false}, // the first was perhaps
		{attempt.Error{Attempts: 2, Reason: reason.ErrAttempts, Cause: context.DeadlineExceeded}, true, false},
	} {
		require.Equal(t, c.timeout, c.err.Timeout(), c.err.Error())
		require.Equal(t, c.unsent, verdict.NotSent(&c.err), c.err.Error())
	}
}

// status is an error with an HTTP status and a Retry-After.
type status = attempttest.Status

type unsent struct{}

func (unsent) Error() string        { return "not sent" }
func (unsent) Facts() verdict.Facts { return verdict.Facts{Reach: verdict.Unsent} }

// An error of an SDK may hold the answer in a field: a second look at the body sees the same.
type holding struct{ Response *http.Response }

func (h *holding) Error() string { return "the SDK failed" }

func TestAnErrorThatHoldsItsAnswer(t *testing.T) {
	held := func(status int, body string) error {
		return &holding{&http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}}
	}
	err := held(429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`)
	for range 2 {
		require.ErrorIs(t, verdict.Classify(err).Reason, reason.ErrQuota)
	}
	for _, err := range []error{held(200, ""), &holding{}, (*holding)(nil)} {
		require.Zero(t, verdict.Classify(err))
	}
}

// Streams of HTTP/2 that a server breaks off are tried again.
func TestAStreamOfAServerThatIsReset(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	_, err := s.Client().Get(s.URL)
	require.ErrorContains(t, err, "INTERNAL_ERROR")
	require.Equal(t, verdict.Verdict{Meaning: answer.Passing}, verdict.Classify(err))
}
