package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/limiter"
)

type apiError struct {
	code   string
	status int
}

func (e apiError) Error() string       { return e.code }
func (e apiError) ErrorCode() string   { return e.code }
func (e apiError) HTTPStatusCode() int { return e.status }

// grpcError has the methods of a gRPC status error, whose types this module
// does not know.
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
type judged limiter.Verdict

func (judged) Error() string              { return "judged" }
func (j judged) Verdict() limiter.Verdict { return limiter.Verdict(j) }
func (judged) GRPCStatus() *grpcStatus    { return &grpcStatus{8} }

type temporary bool

func (temporary) Error() string     { return "temporary" }
func (t temporary) Temporary() bool { return bool(t) }

var (
	success  = limiter.Verdict{Outcome: limiter.Success}
	overload = limiter.Verdict{Outcome: limiter.Overload, Retry: true}
	timeout  = limiter.Verdict{Outcome: limiter.Timeout, Retry: true}
	again    = limiter.Verdict{Outcome: limiter.Neutral, Retry: true}
	final    = limiter.Verdict{Outcome: limiter.Neutral}
)

func after(v limiter.Verdict, d time.Duration) limiter.Verdict {
	v.RetryAfter = d
	return v
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		want limiter.Verdict
	}{
		{errors.New("any"), final},
		{context.Canceled, final},
		{context.DeadlineExceeded, timeout},
		{fmt.Errorf("send: %w", context.Canceled), final},
		{errors.Join(status{code: 503}, context.Canceled), final},

		{status{code: 429}, overload},
		{status{code: 503, after: time.Second}, after(overload, time.Second)},
		{status{code: 503, after: -time.Second}, overload},
		{status{code: 529}, overload},
		{status{code: 408}, timeout},
		{status{code: 504}, timeout},
		{status{code: 500}, again},
		{status{code: 502}, again},
		{status{code: 501}, final},
		{status{code: 404}, final},
		{status{code: 413}, final},
		{status{code: 403}, final},
		{status{code: 403, after: time.Minute}, after(overload, time.Minute)},

		{errors.Join(status{code: 0}, syscall.ECONNREFUSED), again},
		{errors.Join(status{code: 200}, context.DeadlineExceeded), timeout},
		{status{code: 200}, final},

		{apiError{"SlowDown", 200}, overload},
		{apiError{"SlowDown", 503}, overload},
		{apiError{"ThrottlingException", 400}, overload},
		{apiError{"RequestTimeout", 400}, timeout},
		{apiError{"InternalError", 200}, again},
		{apiError{"NoSuchBucket", 404}, final},
		{apiError{"QuotaExceeded", 429}, final},
		{apiError{"ServiceQuotaExceededException", 402}, final},
		{apiError{"insufficient_quota", 503}, final},
		{apiError{"Unheard", 429}, overload},
		{fmt.Errorf("PutObject: %w", apiError{"SlowDown", 503}), overload},

		{grpcError{8}, overload},
		{grpcError{14}, overload},
		{grpcError{4}, timeout},
		{grpcError{5}, final},
		{fmt.Errorf("call: %w", grpcError{8}), overload},
		{errors.Join(errors.New("other"), grpcError{8}), overload},
		{strange{}, final},

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
		{temporary(false), final},
		{&net.DNSError{IsNotFound: true}, final},
		{&net.DNSError{IsTimeout: true}, timeout},
	} {
		assert.Equal(t, c.want, limiter.Classify(c.err), "%#v", c.err)
	}
	assert.Equal(t, success, limiter.ClassifyStatus(204, 0))
	assert.Equal(t, success, limiter.ClassifyStatus(304, 0))
}

func TestClassifiersCompose(t *testing.T) {
	teapot := func(err error) limiter.Verdict {
		var s status
		if errors.As(err, &s) && s.code == 418 {
			return overload
		}
		return limiter.Verdict{}
	}
	classify := limiter.FirstOf(teapot, limiter.ConnectionsAsOverload, limiter.Classify)
	require.Equal(t, overload, classify(status{code: 418}))
	require.Equal(t, overload, classify(syscall.ECONNRESET))
	require.Equal(t, timeout, classify(status{code: 504}))
	require.Equal(t, final, limiter.FirstOf(teapot)(io.EOF))
	require.Equal(t, final, limiter.FirstOf()(io.EOF))

	l := newLimiter(t, 1, func(c *limiter.Config) { c.Classifier = teapot })
	require.Equal(t, success, l.Classify(nil))
	require.Equal(t, overload, l.Classify(status{code: 418}))
	require.Equal(t, final, l.Classify(io.EOF))
}
