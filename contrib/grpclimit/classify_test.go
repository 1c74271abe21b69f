package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/contrib/grpclimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

var (
	overload = verdict.Verdict{Meaning: answer.Refused}
	timeout  = verdict.Verdict{Meaning: answer.Slow}
	final    = verdict.Verdict{Meaning: answer.Final}
)

func after(v verdict.Verdict, d time.Duration) verdict.Verdict {
	v.Wait = d
	return v
}

// withRetryInfo is an error with a RetryInfo.
func withRetryInfo(code codes.Code, delay *durationpb.Duration) error {
	s, err := status.New(code, "later").WithDetails(&errdetails.Help{}, &errdetails.RetryInfo{RetryDelay: delay})
	if err != nil {
		panic(err)
	}
	return s.Err()
}

func TestClassify(t *testing.T) {
	second := durationpb.New(time.Second)
	for _, c := range []struct {
		err  error
		want verdict.Verdict
	}{
		{errors.New("any"), verdict.Verdict{}}, {context.DeadlineExceeded, verdict.Verdict{}},
		{refused, overload},
		{fmt.Errorf("call: %w", refused), overload},
		{status.Error(codes.Unavailable, ""), overload},
		{status.Error(codes.DeadlineExceeded, ""), timeout},
		{status.Error(codes.Canceled, ""), final}, {status.Error(codes.Internal, ""), final},

		{withRetryInfo(codes.ResourceExhausted, second), after(overload, time.Second)},
		{fmt.Errorf("call: %w", withRetryInfo(codes.Unavailable, second)), after(overload, time.Second)},
		// Spanner's: the whole transaction may be tried again, not this call.
		{withRetryInfo(codes.Aborted, second), after(final, time.Second)},
		{withRetryInfo(codes.ResourceExhausted, nil), overload},
		{withRetryInfo(codes.ResourceExhausted, durationpb.New(-time.Second)), overload},
		{withRetryInfo(codes.ResourceExhausted, &durationpb.Duration{Seconds: math.MaxInt64}), overload},
		{withRetryInfo(codes.ResourceExhausted, &durationpb.Duration{Seconds: 1, Nanos: -1}), overload},
		{withRetryInfo(codes.ResourceExhausted, durationpb.New(366*24*time.Hour)), overload},

		{status.Error(codes.ResourceExhausted, "CLIENT: Received message larger than max (5 vs. 4)"), final},
		{status.Error(codes.ResourceExhausted, "gRPC message exceeds maximum size 4: 5"), final},
		{status.Error(codes.ResourceExhausted, "Received message exceeds the maximum configured message size."), final},
		{status.Error(codes.Unavailable, "larger than max"), overload},
	} {
		assert.Equal(t, c.want, grpclimit.Classify(c.err), "%v", c.err)
	}
}

func TestPushback(t *testing.T) {
	forbidden := verdict.Verdict{Meaning: answer.Refused, Reason: grpclimit.ErrForbidden}
	for _, c := range []struct {
		trailer []string
		want    verdict.Verdict
	}{
		{nil, overload},
		{[]string{"0"}, overload},
		{[]string{"1500"}, after(overload, 1500*time.Millisecond)},
		{[]string{"-1"}, forbidden}, {[]string{""}, forbidden}, {[]string{"soon"}, forbidden}, {[]string{"99999999999999999999"}, forbidden},
		{[]string{"1", "2"}, forbidden}, {[]string{"+5"}, forbidden}, {[]string{" 7"}, forbidden},
	} {
		for way, use := range both {
			t.Run(way+" "+strings.Join(c.trailer, ","), func(t *testing.T) {
				l := one(t, aimd.Config{})
				client := to(t, &service{answers: func(_ context.Context, trailer func(metadata.MD)) error {
					trailer(metadata.MD{"grpc-retry-pushback-ms": c.trailer, "mine": {"kept"}})
					return refused
				}}, grpclimit.Limit(l.Limiter)...)
				var trailer metadata.MD
				err := use(t.Context(), client, grpc.Trailer(&trailer))
				l.told(window.Overload)
				assert.Equal(t, c.want, verdict.Classify(err))
				requireCode(t, codes.ResourceExhausted, err)
				assert.Equal(t, []string{"kept"}, trailer.Get("mine"), "the caller's own option still works")
			})
		}
	}
	// The longer of a RetryInfo and a pushback counts, and the error is still the status that it was.
	l := one(t, aimd.Config{})
	err := call(t.Context(), to(t, &service{answers: func(_ context.Context, trailer func(metadata.MD)) error {
		trailer(metadata.Pairs("grpc-retry-pushback-ms", "2000"))
		return withRetryInfo(codes.Unavailable, durationpb.New(time.Second))
	}}, grpclimit.Limit(l.Limiter)...))
	l.told(window.Overload)
	assert.Equal(t, after(overload, 2*time.Second), verdict.Classify(err), "the limiter's own classifier reads it")
	assert.Equal(t, 2*time.Second, grpclimit.Classify(err).Wait)
	assert.EqualError(t, err, "rpc error: code = Unavailable desc = later")
	assert.Len(t, status.Convert(err).Details(), 2)
}

// A message that is too large is RESOURCE_EXHAUSTED too, and no overload. TestClassify has the words of others.
func TestAMessageThatIsTooLarge(t *testing.T) {
	l := one(t, aimd.Config{})
	dialer, _ := serve(t, &service{}, grpc.MaxRecvMsgSize(1<<9))
	client, _ := dial(t, append(grpclimit.Limit(l.Limiter), dialer)...)
	err := l.Do(t.Context(), func(ctx context.Context) error {
		_, err := client.UnaryCall(ctx, &pb.SimpleRequest{Payload: &pb.Payload{Body: make([]byte, 1<<10)}})
		return err
	})
	requireCode(t, codes.ResourceExhausted, err)
	l.told(window.Neutral)
}

func FuzzPushback(f *testing.F) {
	for _, s := range []string{"", "0", "1500", "-1", "1e9", "+5", " 7", "18446744073709551615"} {
		f.Add(s)
	}
	l := attempttest.Limiter(f, aimd.Config{Law: aimd.Reno(0.5)})
	f.Fuzz(func(t *testing.T, value string) {
		err := grpclimit.UnaryClientInterceptor(l)(t.Context(), "", nil, nil, nil,
			func(_ context.Context, _ string, _, _ any, _ *grpc.ClientConn, opts ...grpc.CallOption) error {
				trailer, ok := opts[len(opts)-1].(grpc.TrailerCallOption)
				require.True(t, ok)
				*trailer.TrailerAddr = metadata.Pairs("grpc-retry-pushback-ms", value)
				return status.Error(codes.Internal, "")
			})
		d := grpclimit.Classify(err).Wait
		assert.GreaterOrEqual(t, d, time.Duration(0))
		assert.LessOrEqual(t, d, 365*24*time.Hour)
		if strings.HasPrefix(value, "-") {
			assert.Zero(t, d)
		}
		assert.Equal(t, codes.Internal, status.Code(err))
		assert.Zero(t, l.Snapshot().InFlight)
	})
}

// A wrong port is reported within 10 s, and a server that goes away later ends no call.
func TestAWrongPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := true
		l := attempttest.Limiter(t, aimd.Config{Law: aimd.Reno(0.5)})
		atRest(t, l)
		listener := bufconn.Listen(1 << 16)
		client, _ := dial(t, append(retried(l), grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if away {
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: net.UnknownNetworkError("refused")}
			}
			return listener.DialContext(ctx)
		}))...)
		start := time.Now()
		err := call(t.Context(), client)
		require.ErrorIs(t, err, aimd.ErrNeverAnswered)
		require.Regexp(t, "^gave up after [0-9]+ attempts: aimd: the service has never answered in 10s; last error: rpc error", err.Error())
		requireCode(t, codes.Unavailable, err)
		require.LessOrEqual(t, time.Since(start), 10*time.Second)
		err = stream(t.Context(), client)
		require.ErrorIs(t, err, aimd.ErrNeverAnswered)
		requireCode(t, codes.Unavailable, err)
		require.EqualValues(t, 20, l.Snapshot().Cwnd, "nothing was learned")

		away = false
		server := grpc.NewServer()
		pb.RegisterTestServiceServer(server, &service{})
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		time.Sleep(time.Minute) // until gRPC dials again
		require.NoError(t, call(t.Context(), client))
	})
}

func quotaFailure(details ...*errdetails.RetryInfo) error {
	s, err := status.New(codes.ResourceExhausted, "too much").WithDetails(&errdetails.QuotaFailure{})
	for _, d := range details {
		if err == nil {
			s, err = s.WithDetails(d)
		}
	}
	if err != nil {
		panic(err)
	}
	return s.Err()
}

// A QuotaFailure is final, unless the service says when to come back. A call that is tried again by a
// limiter says so, and a stream with the answer or with the header before it.
func TestOutOfQuota(t *testing.T) {
	assert.Equal(t, verdict.Verdict{Meaning: answer.Spent, Reason: aimd.ErrQuota}, grpclimit.Classify(quotaFailure()))
	soon := &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)}
	assert.Equal(t, verdict.Verdict{Meaning: answer.Refused, Wait: time.Second}, grpclimit.Classify(quotaFailure(soon)))

	ways := maps.Clone(both)
	ways["stream and its header"] = func(ctx context.Context, c pb.TestServiceClient, _ ...grpc.CallOption) error {
		stream, err := c.FullDuplexCall(ctx)
		require.NoError(t, err)
		_, _ = stream.Header() // an answer that is only an error has no header
		_, err = stream.Recv()
		return err
	}
	for way, use := range ways {
		t.Run(way, func(t *testing.T) {
			l, f := one(t, aimd.Config{}), &failing{errs: []error{quotaFailure(), nil}}
			err := use(t.Context(), to(t, f.service(), retried(l.Limiter)...))
			require.ErrorIs(t, err, aimd.ErrQuota)
			require.ErrorContains(t, err, "out of quota")
			requireCode(t, codes.ResourceExhausted, err)
			assert.Equal(t, 1, f.calls)
			l.told(window.Neutral)
		})
	}
}
