package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/contrib/grpclimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// policy is a policy that does not wait.
func policy(t *testing.T, c retry.Config) *retry.Policy {
	t.Helper()
	c.Backoff = backoff.Exponential{Min: 1, Max: 1}
	p, err := retry.New(c)
	require.NoError(t, err)
	return p
}

// failing is a service that fails so often with the errors, in turn, and counts.
type failing struct {
	errs  []error
	calls int
}

func (f *failing) service() *service {
	return &service{answers: func(context.Context, func(metadata.MD)) error {
		f.calls++
		if f.calls <= len(f.errs) {
			return f.errs[f.calls-1]
		}
		return nil
	}}
}

// A policy, or a limiter: each attempt takes its own slot, or uses the one of its Do. Whatever the order of the
// interceptors, and over a window of one, no call is lost.
func TestACallIsTriedAgain(t *testing.T) {
	for name, opts := range map[string]func(*aimd.Limiter) []grpc.DialOption{
		"by a policy": func(l *aimd.Limiter) []grpc.DialOption {
			return append([]grpc.DialOption{grpclimit.Retry(policy(t, retry.Config{Idempotent: true}).Runner().Do)}, grpclimit.Limit(l)...)
		},
		"by a limiter": retried,
		"Limit twice":  func(l *aimd.Limiter) []grpc.DialOption { return append(retried(l), grpclimit.Limit(l)...) },
		"Limit before": func(l *aimd.Limiter) []grpc.DialOption { return append(grpclimit.Limit(l), grpclimit.Retry(l.Do)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, g := guarded(t, aimd.Config{})
				f := &failing{errs: []error{refused, status.Error(codes.DeadlineExceeded, "of my own")}}
				require.NoError(t, call(t.Context(), to(t, f.service(), opts(l.Limiter)...)))
				assert.Equal(t, 3, f.calls)
				l.told(window.Overload, window.Timeout, window.Success)
				first := 1
				if name == "Limit before" { // the attempts are within one call, which asked the guards before them
					first = 0
				}
				attempts, _ := g.Heard()
				assert.Equal(t, []int{first, 2, 3}, attempts)
			})
		})
	}
}

// What Retry returns, if do does so: the code is that of the last attempt, or of the context's end.
func TestTheErrorOfACallThatWasTriedAgain(t *testing.T) {
	by := policy(t, retry.Config{Idempotent: true}).Runner().Do
	f := &failing{errs: []error{refused, refused, withRetryInfo(codes.Unavailable, nil)}}
	err := call(t.Context(), to(t, f.service(), grpclimit.Retry(by)))
	require.ErrorIs(t, err, aimd.ErrAttempts)
	requireCode(t, codes.Unavailable, err)
	var story *attempt.Error
	require.ErrorAs(t, err, &story)
	assert.Equal(t, 3, story.Attempts)
	s, ok := status.FromError(err)
	require.True(t, ok)
	assert.Equal(t, story.Error(), s.Message())
	assert.Len(t, s.Details(), 2)

	// A server that forbids it.
	calls := 0
	err = call(t.Context(), to(t, &service{answers: func(_ context.Context, trailer func(metadata.MD)) error {
		calls++
		trailer(metadata.Pairs("grpc-retry-pushback-ms", "-1"))
		return refused
	}}, grpclimit.Retry(by)))
	assert.ErrorContains(t, err, "gave up after 1 attempt: grpclimit: the service asks for no other attempt")
	requireCode(t, codes.ResourceExhausted, err)
	assert.Equal(t, 1, calls)

	for want, end := range map[codes.Code]error{codes.Canceled: context.Canceled, codes.DeadlineExceeded: context.DeadlineExceeded} {
		err := call(t.Context(), to(t, &service{}, grpclimit.Retry(func(context.Context, func(context.Context) error) error {
			return &attempt.Error{Attempts: 2, Reason: end, Cause: refused}
		})))
		requireCode(t, want, err)
		require.ErrorIs(t, err, end)
		require.ErrorIs(t, err, refused)
	}

	l := one(t, aimd.Config{})
	l.Close()
	err = call(t.Context(), to(t, &service{}, retried(l.Limiter)...))
	require.ErrorAs(t, err, &story)
	require.True(t, verdict.NotSent(story))
	require.ErrorIs(t, err, aimd.ErrClosed)
	requireCode(t, codes.Canceled, err)

	mine := errors.New("mine")
	err = call(t.Context(), to(t, &service{}, grpclimit.Retry(func(context.Context, func(context.Context) error) error { return mine })))
	assert.Same(t, mine, err, "what is no story stays what it is")
	assert.PanicsWithValue(t, "grpclimit: Retry with a nil function", func() { grpclimit.Retry(nil) })
}

// "Don't retry by default": only what is known to be idempotent, here by the option of the method.
func TestAMethodThatSaysThatItIsIdempotent(t *testing.T) {
	register(t)
	tried := grpclimit.Retry(policy(t, retry.Config{}).Runner().Do)
	f := &failing{errs: []error{refused, refused, refused}}
	dialer, _ := serve(t, f.service())
	_, conn := dial(t, dialer, tried, grpc.WithChainUnaryInterceptor(
		func(ctx context.Context, _ string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoke(ctx, pb.TestService_UnaryCall_FullMethodName, req, reply, cc, opts...)
		}))
	for method, want := range map[string]int{
		"/grpclimit.test.Store/Put": 3, "/grpclimit.test.Store/Get": 3, "/grpclimit.test.Store/Append": 1,
		"/grpclimit.test.Store/Unheard": 1, "/grpclimit.test.Store": 1, "": 1,
	} {
		f.calls = 0
		err := conn.Invoke(t.Context(), method, &pb.SimpleRequest{}, &pb.SimpleResponse{})
		requireCode(t, codes.ResourceExhausted, err)
		assert.Equal(t, want, f.calls, method)
		if want == 1 && method != "" {
			assert.ErrorIs(t, err, retry.ErrNotIdempotent)
		}
	}
}

// register makes a service known as generated code does.
func register(t *testing.T) {
	t.Helper()
	method := func(name string, level descriptorpb.MethodOptions_IdempotencyLevel) *descriptorpb.MethodDescriptorProto {
		return &descriptorpb.MethodDescriptorProto{
			Name: &name, InputType: proto.String(".grpc.testing.SimpleRequest"), OutputType: proto.String(".grpc.testing.SimpleResponse"),
			Options: &descriptorpb.MethodOptions{IdempotencyLevel: &level},
		}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("grpclimit_test.proto"), Package: proto.String("grpclimit.test"),
		Dependency: []string{pb.File_grpc_testing_messages_proto.Path()},
		Service: []*descriptorpb.ServiceDescriptorProto{{Name: proto.String("Store"), Method: []*descriptorpb.MethodDescriptorProto{
			method("Put", descriptorpb.MethodOptions_IDEMPOTENT),
			method("Get", descriptorpb.MethodOptions_NO_SIDE_EFFECTS),
			method("Append", descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN),
		}}},
	}, protoregistry.GlobalFiles)
	require.NoError(t, err)
	if _, err := protoregistry.GlobalFiles.FindFileByPath(file.Path()); err != nil { // -count
		require.NoError(t, protoregistry.GlobalFiles.RegisterFile(file))
	}
}

// heard returns a client with the options, and the metadata of its calls.
func heard(t *testing.T, opts ...grpc.DialOption) (pb.TestServiceClient, <-chan metadata.MD) {
	t.Helper()
	seen := make(chan metadata.MD, 1)
	return to(t, &service{answers: func(ctx context.Context, _ func(metadata.MD)) error {
		md, _ := metadata.FromIncomingContext(ctx)
		seen <- md
		return nil
	}}, opts...), seen
}

func tagged(t *testing.T, client, version string) []grpc.DialOption {
	t.Helper()
	opts, err := grpclimit.Tag(client, version)
	require.NoError(t, err)
	return opts
}

// Safe Client Behaviour: "Tag requests with client name and version, feature that triggered the request,
// severity of failing the request, retry or initial request"
func TestTagsArriveAtTheServer(t *testing.T) {
	client, seen := heard(t, tagged(t, "photos", "2.1")...)
	want := tag.Tags{Client: "photos", Version: "2.1", Feature: "thumbnails", Criticality: tag.SheddablePlus, Attempt: 2}
	ctx := tag.NewContext(t.Context(), tag.Tags{Client: "other", Feature: "thumbnails", Criticality: tag.SheddablePlus, Attempt: 2})
	for _, use := range both {
		require.NoError(t, use(ctx, client))
		md := <-seen
		assert.Equal(t, []string{"photos"}, md["aimd-client"])
		assert.Equal(t, []string{"sheddable-plus"}, md["aimd-criticality"])
		got, err := grpclimit.ParseTags(md)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestTagsLeaveOtherMetadataAlone(t *testing.T) {
	client, seen := heard(t, tagged(t, "photos", "2.1")...)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "mine", "1", "Aimd-Client", "relayed", "mine", "2", "aimd-attempt", "1")
	first, err := new(attempt.Runner).Begin(ctx)
	require.NoError(t, err)
	second, err := first.Next(ctx)
	require.NoError(t, err)
	require.NoError(t, call(second.Context(), client))
	md := <-seen
	assert.Equal(t, []string{"1", "2"}, md["mine"])
	assert.Equal(t, []string{"relayed"}, md["aimd-client"])
	assert.Empty(t, md["aimd-client-version"], "ours would not be that client's")
	assert.Equal(t, []string{"2"}, md["aimd-attempt"], "it is a retry now")
	out, _ := metadata.FromOutgoingContext(ctx)
	assert.Equal(t, metadata.MD{"mine": {"1", "2"}, "aimd-client": {"relayed"}, "aimd-attempt": {"1"}}, out, "the caller's own is not changed")
}

// gRPC fails a call whose metadata is not ASCII; a tag must not make that happen. The rest is httplimit's.
func TestTagsThatAreNotAllowed(t *testing.T) {
	client, seen := heard(t, tagged(t, "", "")...)
	require.NoError(t, call(tag.NewContext(t.Context(), tag.Tags{Client: "größe\n", Feature: "a b", Criticality: 9}), client))
	got, err := grpclimit.ParseTags(<-seen)
	require.NoError(t, err)
	assert.Equal(t, tag.Tags{Client: "gr__e_", Feature: "a_b"}, got)

	got, err = grpclimit.ParseTags(metadata.MD{"aimd-client": {"a", "b"}, "aimd-feature": {"nightly"}, "aimd-attempt": {"-1"}})
	assert.ErrorContains(t, err, "Aimd-Client: given 2 times")
	assert.ErrorContains(t, err, "Aimd-Attempt: ")
	assert.Equal(t, tag.Tags{Feature: "nightly"}, got)

	_, err = grpclimit.Tag("my client", "1")
	assert.ErrorContains(t, err, `grpclimit: tag: client: "my client" is not allowed, want `)
}

// A call and a stream end their attempt in each way in which they may end.
func TestTheLifeOfAnAttempt(t *testing.T) {
	// served has the words of gRPC for what the network does.
	served := func(ctx context.Context, send attempttest.Trip) error {
		switch err := send(ctx); {
		case errors.Is(err, attempttest.ErrRefused):
			return refused
		case ctx.Err() != nil:
			return status.FromContextError(ctx.Err()).Err()
		case err != nil:
			return status.Error(codes.Unavailable, err.Error())
		}
		return nil
	}
	attempttest.Run(t, func(ctx context.Context, l *aimd.Limiter, send attempttest.Trip) error {
		return invoke(ctx, watched{Limiter: l}, func(ctx context.Context) error { return served(ctx, send) })
	})
	attempttest.Run(t, func(ctx context.Context, l *aimd.Limiter, send attempttest.Trip) error {
		stream, err := open(ctx, watched{Limiter: l}, func(ctx context.Context, _ []grpc.CallOption) (grpc.ClientStream, error) {
			return handmade{end: func() error { return io.EOF }}, served(ctx, send)
		})
		if err != nil {
			return err
		}
		require.ErrorIs(t, stream.RecvMsg(nil), io.EOF)
		return nil
	})
}
