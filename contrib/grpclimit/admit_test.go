package grpclimit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/contrib/grpclimit"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// oneByOne is a controller with one place and a queue of that bound (-1: none). After the test all places
// must be free.
func oneByOne(t *testing.T, bound int) *admission.Controller {
	t.Helper()
	c, err := admission.New(admission.Fixed(1), admission.Config{QueueBound: bound, QueueTime: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		s := c.Snapshot()
		assert.Zero(t, s.InFlight, "places held at the end")
		assert.Zero(t, s.Queued, "queued at the end")
	})
	return c
}

// admitted starts a server behind the controller, and other interceptors, and returns a client of it.
func admitted(t *testing.T, c *admission.Controller, s *service, conf grpclimit.ServerConfig, before ...grpc.ServerOption) (pb.TestServiceClient, *grpc.ClientConn) {
	t.Helper()
	admit, err := grpclimit.Admit(c, conf)
	require.NoError(t, err)
	dialer, _ := serve(t, s, append(before, admit...)...)
	return dial(t, append(tagged(t, "photos", "2.1"), dialer)...)
}

// held takes a place, and returns what gives it back.
func held(t *testing.T, c *admission.Controller) (release func()) {
	t.Helper()
	p, err := c.Admit(t.Context(), tag.Tags{})
	require.NoError(t, err)
	return func() { p.Done(window.Neutral) }
}

// The decision and the tags are in the context.
func TestTheHandlerFindsTagsAndPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := oneByOne(t, 1)
		client, _ := admitted(t, c, &service{answers: func(ctx context.Context, _ func(metadata.MD)) error {
			if got := tag.FromContext(ctx); got != (tag.Tags{Client: "photos", Version: "2.1", Feature: "thumbnails"}) {
				return fmt.Errorf("tags: %+v", got)
			}
			if p, ok := admission.FromContext(ctx); !ok || p.Waited() != time.Second {
				return fmt.Errorf("place: %+v", p)
			}
			return nil
		}}, grpclimit.ServerConfig{})
		for _, use := range both {
			time.AfterFunc(time.Second, held(t, c))
			require.NoError(t, use(tag.WithFeature(t.Context(), "thumbnails"), client))
		}
		assert.EqualValues(t, 2, c.Snapshot().ByCriticality[tag.Critical].Delayed)
	})
}

// A shed call ends with RESOURCE_EXHAUSTED or UNAVAILABLE, by choice, and a jittered RetryInfo.
func TestWhatIsShedIsToldWhenToComeBack(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.ResourceExhausted} {
		c := oneByOne(t, -1)
		client, _ := admitted(t, c, &service{}, grpclimit.ServerConfig{Code: code})
		release := held(t, c)
		delays := map[time.Duration]bool{}
		for range 10 {
			for _, use := range both {
				var trailer metadata.MD
				err := use(t.Context(), client, grpc.Trailer(&trailer))
				requireCode(t, code, err)
				assert.Equal(t, "overloaded, try again later", status.Convert(err).Message())
				after := grpclimit.Classify(err).Wait
				assert.GreaterOrEqual(t, after, time.Second/2)
				assert.Equal(t, []string{fmt.Sprint((after + time.Millisecond - 1).Milliseconds())}, trailer["grpc-retry-pushback-ms"])
				delays[after] = true
			}
		}
		assert.Greater(t, len(delays), 15, "they are jittered")
		release()
		require.NoError(t, call(t.Context(), client))
	}
}

func TestInterceptorsBeforeSeeTheShed(t *testing.T) {
	c := oneByOne(t, -1)
	seen := make(chan error, 1)
	see := grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		reply, err := handle(ctx, req)
		seen <- err
		return reply, err
	})
	client, _ := admitted(t, c, &service{}, grpclimit.ServerConfig{}, see)
	defer held(t, c)()
	require.Error(t, call(t.Context(), client))
	err := <-seen
	var shed *admission.Shed
	require.ErrorAs(t, err, &shed)
	assert.Equal(t, "full", shed.Reason)
	assert.ErrorContains(t, err, "rpc error: code = Unavailable desc = overloaded, try again later: admission: shed (full)")
}

// The most critical call is first (interactive before background), and a client that vanished gives its place back,
// in the queue and in service.
func TestTheQueueOfAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := oneByOne(t, 1)
		waits := func(want int) {
			t.Helper()
			queued(t, want, func() int { return c.Snapshot().Queued })
		}
		client, _ := admitted(t, c, &service{duplex: func(s duplexServer) error {
			<-s.Context().Done()
			return s.Context().Err()
		}}, grpclimit.ServerConfig{})
		serving, cancel := context.WithCancel(t.Context())
		first := async(func() error { return stream(serving, client) })
		synctest.Wait()
		background := async(func() error { return call(tag.WithCriticality(t.Context(), tag.Sheddable), client) })
		waits(1)
		waiting, leave := context.WithCancel(t.Context())
		interactive := async(func() error { return call(waiting, client) })
		requireCode(t, codes.Unavailable, <-background)
		waits(1)
		leave()
		requireCode(t, codes.Canceled, <-interactive)
		waits(0)
		cancel()
		requireCode(t, codes.Canceled, <-first)
		require.NoError(t, call(t.Context(), client), "the place is free again")
		s := c.Snapshot()
		assert.EqualValues(t, []uint64{1, 1, 1}, []uint64{s.ByCriticality[tag.Sheddable].Displaced, s.ByCriticality[tag.Critical].Vanished, s.Neutrals})
	})
}

// A panic gives the place back, and continues.
func TestAHandlerThatPanics(t *testing.T) {
	c := oneByOne(t, -1)
	unary, stream, err := grpclimit.ServerInterceptors(c, grpclimit.ServerConfig{})
	require.NoError(t, err)
	assert.PanicsWithValue(t, "mine", func() {
		_, _ = unary(t.Context(), nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) { panic("mine") })
	})
	assert.PanicsWithValue(t, "mine", func() {
		_ = stream(nil, served{ctx: t.Context()}, &grpc.StreamServerInfo{}, func(any, grpc.ServerStream) error { panic("mine") })
	})
	assert.EqualValues(t, 2, c.Snapshot().Neutrals)
}

// served is a server's stream without a connection.
type served struct {
	grpc.ServerStream
	ctx context.Context
}

func (s served) Context() context.Context   { return s.ctx }
func (served) SendMsg(any) error            { return nil }
func (served) SendHeader(metadata.MD) error { return nil }

func TestProbesPassBy(t *testing.T) {
	c := oneByOne(t, -1)
	_, conn := admitted(t, c, &service{}, grpclimit.ServerConfig{})
	defer held(t, c)()
	probe := healthpb.NewHealthClient(conn)
	_, err := probe.Check(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	watch, err := probe.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = watch.Recv()
	require.NoError(t, err)

	bypass, _, err := grpclimit.ServerInterceptors(c, grpclimit.ServerConfig{Bypass: func(_ context.Context, method string) bool { return method == "/mine" }})
	require.NoError(t, err)
	handle := func(ctx context.Context, _ any) (any, error) {
		_, ok := admission.FromContext(ctx)
		return ok, nil
	}
	place, err := bypass(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/mine"}, handle)
	require.NoError(t, err)
	assert.Equal(t, false, place)
	_, err = bypass(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/other"}, handle)
	requireCode(t, codes.Unavailable, err)
}

func TestWrongServerConfigs(t *testing.T) {
	c := oneByOne(t, -1)
	for want, o := range map[string]grpclimit.ServerConfig{
		"grpclimit: Code: Internal is not allowed, want Unavailable or ResourceExhausted": {Code: codes.Internal},
		"grpclimit: Slow: -1ns is not allowed, want a positive duration, or 0 for none":   {Slow: -1},
	} {
		_, err := grpclimit.Admit(c, o)
		assert.EqualError(t, err, want)
	}
	_, err := grpclimit.Admit(nil, grpclimit.ServerConfig{})
	assert.EqualError(t, err, "grpclimit: controller: nil is not allowed")
}

// outcomes is a controller, and the outcomes that it was told.
func outcomes(t *testing.T) (*admission.Controller, *[]window.Outcome) {
	t.Helper()
	told := &[]window.Outcome{}
	c, err := admission.New(admission.Fixed(1), admission.Config{Observer: func(e admission.Event) {
		if e.Outcome != 0 {
			*told = append(*told, e.Outcome)
		}
	}})
	require.NoError(t, err)
	return c, told
}

func TestWhatAHandlersEndSaysToTheLimit(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	downstream := grpclimit.NotSent(errors.New("queue full"))
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want window.Outcome
	}{
		{t.Context(), nil, window.Success},
		{t.Context(), status.Error(codes.NotFound, ""), window.Success},
		{t.Context(), status.Error(codes.Unavailable, ""), window.Overload},
		{t.Context(), fmt.Errorf("store: %w", refused), window.Overload},
		{t.Context(), downstream, window.Overload},
		{t.Context(), status.Error(codes.DeadlineExceeded, ""), window.Timeout},
		{t.Context(), context.DeadlineExceeded, window.Timeout},
		{t.Context(), context.Canceled, window.Neutral},
		{t.Context(), status.Error(codes.Internal, ""), window.Neutral},
		{t.Context(), errors.New("any"), window.Neutral},
		// Its deadline, which it chooses on its own, has passed
		{late, context.DeadlineExceeded, window.Neutral},
		{late, nil, window.Neutral},
		{late, refused, window.Overload},
		{gone, context.Canceled, window.Neutral},
		{gone, nil, window.Neutral},
		{gone, refused, window.Neutral},
	} {
		controller, told := outcomes(t)
		unary, stream, err := grpclimit.ServerInterceptors(controller, grpclimit.ServerConfig{})
		require.NoError(t, err)
		// Admitted before its context ended.
		ctx := &ends{Context: t.Context()}
		_, err = unary(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) {
			ctx.Context = c.ctx
			return nil, c.err
		})
		assert.Equal(t, c.err, err)
		ctx = &ends{Context: t.Context()}
		err = stream(nil, served{ctx: ctx}, &grpc.StreamServerInfo{}, func(any, grpc.ServerStream) error {
			ctx.Context = c.ctx
			return c.err
		})
		assert.Equal(t, c.err, err)
		assert.Equal(t, []window.Outcome{c.want, c.want}, *told, "%v, %v", c.ctx.Err(), c.err)
	}
}

// ends is a context that becomes another.
type ends struct{ context.Context }

func TestASlowAnswerIsATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		controller, told := outcomes(t)
		unary, stream, err := grpclimit.ServerInterceptors(controller, grpclimit.ServerConfig{Slow: time.Second})
		require.NoError(t, err)
		answer := func(first, rest time.Duration, err error, begin func(grpc.ServerStream) error) {
			_ = stream(nil, served{ctx: t.Context()}, &grpc.StreamServerInfo{}, func(_ any, s grpc.ServerStream) error {
				time.Sleep(first)
				require.NoError(t, begin(s))
				time.Sleep(rest)
				require.NoError(t, begin(s))
				return err
			})
		}
		message := func(s grpc.ServerStream) error { return s.SendMsg(nil) }
		header := func(s grpc.ServerStream) error { return s.SendHeader(nil) }
		nothing := func(grpc.ServerStream) error { return nil }
		answer(time.Second, time.Hour, nil, message)
		answer(time.Second, time.Hour, nil, header)
		answer(time.Second, time.Hour, nil, nothing)
		answer(time.Second+1, 0, nil, message)
		answer(time.Second+1, 0, status.Error(codes.Internal, ""), header)
		answer(time.Second+1, 0, refused, message)
		for _, d := range []time.Duration{time.Second, time.Second + 1} {
			_, err = unary(t.Context(), nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) {
				time.Sleep(d)
				return nil, nil
			})
			require.NoError(t, err)
		}
		assert.Equal(t, []window.Outcome{
			window.Success, window.Success, window.Timeout, window.Timeout, window.Timeout, window.Overload,
			window.Success, window.Timeout,
		}, *told)
	})
}

func TestOutcomesAndTagsOfTheServersOwn(t *testing.T) {
	controller, told := outcomes(t)
	of := map[codes.Code]window.Outcome{codes.NotFound: window.Overload}
	unary, _, err := grpclimit.ServerInterceptors(controller,
		grpclimit.ServerConfig{
			Outcome: func(c codes.Code) window.Outcome { return of[c] },
			Tags:    func(_ context.Context, method string) tag.Tags { return tag.Tags{Feature: method} },
		})
	require.NoError(t, err)
	for _, c := range []codes.Code{codes.NotFound, codes.ResourceExhausted} {
		_, err = unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/s/m"}, func(ctx context.Context, _ any) (any, error) {
			assert.Equal(t, tag.Tags{Feature: "/s/m"}, tag.FromContext(ctx))
			return nil, status.Error(c, "")
		})
		requireCode(t, c, err)
	}
	assert.Equal(t, []window.Outcome{window.Overload, window.Neutral}, *told)
}
