package aimdgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
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
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
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

// admitted starts a server behind the controller, and returns a client of it.
func admitted(t *testing.T, c *admission.Controller, s *service, conf aimdgrpc.ServerConfig) pb.TestServiceClient {
	t.Helper()
	admit, err := aimdgrpc.Admit(c, conf)
	require.NoError(t, err)
	client, _ := dial(t, "any", append(tagged(t, "photos", "2.1"), inMemory(t, s, admit...))...)
	return client
}

// held takes a place, and returns what gives it back.
func held(t *testing.T, c *admission.Controller) (release func()) {
	t.Helper()
	p, err := c.Admit(t.Context(), tag.Tags{})
	require.NoError(t, err)
	return func() { p.Done(window.Neutral) }
}

// queued asserts that so many calls wait once all is at rest, in a bubble.
func queued(t *testing.T, c *admission.Controller, n int) {
	t.Helper()
	synctest.Wait()
	require.Equal(t, n, c.Snapshot().Queued, "queued")
}

// The decision and the tags are in the context.
func TestTheHandlerFindsTagsAndPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := oneByOne(t, 1)
		check := func(ctx context.Context) error {
			if got := tag.FromContext(ctx); got != (tag.Tags{Client: "photos", Version: "2.1", Feature: "thumbnails"}) {
				return fmt.Errorf("tags: %+v", got)
			}
			if p, ok := admission.FromContext(ctx); !ok || p.Waited() != time.Second {
				return fmt.Errorf("permit: %+v", p)
			}
			return nil
		}
		client := admitted(t, c, &service{
			unary:  func(ctx context.Context, _ *pb.SimpleRequest) error { return check(ctx) },
			duplex: func(s duplexServer) error { return check(s.Context()) },
		}, aimdgrpc.ServerConfig{})
		ctx := tag.WithFeature(t.Context(), "thumbnails")
		for _, send := range []func() error{
			func() error { return call(ctx, client) },
			func() error {
				stream, err := client.FullDuplexCall(ctx)
				if err == nil {
					_, err = stream.Recv()
				}
				return err
			},
		} {
			release := held(t, c)
			sent := async(send)
			queued(t, c, 1)
			time.Sleep(time.Second) // of the bubble's time
			release()
			if err := <-sent; err != nil {
				require.EqualError(t, err, "EOF")
			}
		}
		assert.EqualValues(t, 2, c.Snapshot().ByCriticality[tag.Critical].Delayed)
	})
}

// A shed call ends with RESOURCE_EXHAUSTED or UNAVAILABLE, by choice, and a jittered RetryInfo.
func TestWhatIsShedIsToldWhenToComeBack(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.ResourceExhausted} {
		t.Run(code.String(), func(t *testing.T) {
			c := oneByOne(t, -1)
			client := admitted(t, c, &service{}, aimdgrpc.ServerConfig{Code: code})
			release := held(t, c)
			delays := map[time.Duration]bool{}
			for range 10 {
				var trailer metadata.MD
				err := call(t.Context(), client, grpc.Trailer(&trailer))
				requireCode(t, code, err)
				assert.Equal(t, "overloaded, try again later", status.Convert(err).Message())
				after := aimdgrpc.Classify(err).RetryAfter
				assert.GreaterOrEqual(t, after, time.Second/2)
				assert.Equal(t, []string{fmt.Sprint((after + time.Millisecond - 1).Milliseconds())}, trailer["grpc-retry-pushback-ms"])
				delays[after] = true

				stream, err := client.FullDuplexCall(t.Context())
				require.NoError(t, err)
				_, err = stream.Recv()
				requireCode(t, code, err)
				after = aimdgrpc.Classify(err).RetryAfter
				require.Positive(t, after)
				assert.Len(t, stream.Trailer()["grpc-retry-pushback-ms"], 1)
				delays[after] = true
			}
			assert.Greater(t, len(delays), 15, "they are jittered")
			release()
			require.NoError(t, call(t.Context(), client))
		})
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
	admit, err := aimdgrpc.Admit(c, aimdgrpc.ServerConfig{})
	require.NoError(t, err)
	client, _ := dial(t, start(t, &service{}, append([]grpc.ServerOption{see}, admit...)...))
	defer held(t, c)()
	require.Error(t, call(t.Context(), client))
	err = <-seen
	require.ErrorAs(t, err, new(*admission.Shed))
	var shed *admission.Shed
	require.ErrorAs(t, err, &shed)
	assert.Equal(t, admission.Full, shed.Reason)
	assert.ErrorContains(t, err, "rpc error: code = Unavailable desc = overloaded, try again later: admission: shed (full)")
}

// The most critical call is first (interactive before background)
func TestBackgroundIsShedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := oneByOne(t, 1)
		client := admitted(t, c, &service{}, aimdgrpc.ServerConfig{})
		release := held(t, c)
		background := async(func() error { return call(tag.WithCriticality(t.Context(), tag.Sheddable), client) })
		queued(t, c, 1)
		interactive := async(func() error { return call(t.Context(), client) })
		requireCode(t, codes.Unavailable, <-background)
		release()
		require.NoError(t, <-interactive)
		assert.EqualValues(t, 1, c.Snapshot().ByCriticality[tag.Sheddable].Displaced)
	})
}

// A client that vanished gives its place back
func TestAClientThatVanishes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := oneByOne(t, 1)
		arrived := make(chan struct{})
		var calls atomic.Int32
		client := admitted(t, c, &service{duplex: func(s duplexServer) error {
			close(arrived)
			<-s.Context().Done()
			return s.Context().Err()
		}, unary: func(context.Context, *pb.SimpleRequest) error { calls.Add(1); return nil }}, aimdgrpc.ServerConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		serving, err := client.FullDuplexCall(ctx)
		require.NoError(t, err)
		<-arrived
		waiting, leave := context.WithCancel(t.Context())
		gone := async(func() error { return call(waiting, client) })
		queued(t, c, 1)
		leave()
		requireCode(t, codes.Canceled, <-gone)
		queued(t, c, 0)
		assert.EqualValues(t, 1, c.Snapshot().ByCriticality[tag.Critical].Vanished)
		assert.Zero(t, calls.Load(), "its call is not served")
		cancel()
		_, err = serving.Recv()
		requireCode(t, codes.Canceled, err)
		require.NoError(t, call(t.Context(), client), "the place is free again")
		assert.EqualValues(t, 1, c.Snapshot().Neutrals)
	})
}

// A panic gives the place back, and continues.
func TestAHandlerThatPanics(t *testing.T) {
	c := oneByOne(t, -1)
	unary, stream, err := aimdgrpc.ServerInterceptors(c, aimdgrpc.ServerConfig{})
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

func (s served) Context() context.Context { return s.ctx }
func (served) SendMsg(any) error          { return nil }
func (served) SendHeader(metadata.MD) error {
	return nil
}

func TestProbesPassBy(t *testing.T) {
	c := oneByOne(t, -1)
	admit, err := aimdgrpc.Admit(c, aimdgrpc.ServerConfig{})
	require.NoError(t, err)
	_, conn := dial(t, start(t, &service{}, admit...))
	defer held(t, c)()
	probe := healthpb.NewHealthClient(conn)
	_, err = probe.Check(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	watch, err := probe.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = watch.Recv()
	require.NoError(t, err)

	bypass, _, err := aimdgrpc.ServerInterceptors(c, aimdgrpc.ServerConfig{Bypass: func(_ context.Context, method string) bool { return method == "/mine" }})
	require.NoError(t, err)
	handle := func(ctx context.Context, _ any) (any, error) {
		_, ok := admission.FromContext(ctx)
		return ok, nil
	}
	permit, err := bypass(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/mine"}, handle)
	require.NoError(t, err)
	assert.Equal(t, false, permit)
	_, err = bypass(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/other"}, handle)
	requireCode(t, codes.Unavailable, err)
}

func TestWrongServerConfigs(t *testing.T) {
	c := oneByOne(t, -1)
	for want, o := range map[string]aimdgrpc.ServerConfig{
		"aimdgrpc: Code: Internal is not allowed, want Unavailable or ResourceExhausted": {Code: codes.Internal},
		"aimdgrpc: Slow: -1ns is not allowed, want a positive duration, or 0 for none":   {Slow: -1},
	} {
		_, err := aimdgrpc.Admit(c, o)
		assert.EqualError(t, err, want)
	}
	_, err := aimdgrpc.Admit(nil, aimdgrpc.ServerConfig{})
	assert.EqualError(t, err, "aimdgrpc: controller: nil is not allowed")
}

// outcomes is a controller, and the outcomes that it was told.
func outcomes(t *testing.T) (*admission.Controller, *[]window.Outcome) {
	t.Helper()
	told := &[]window.Outcome{}
	c, err := admission.New(admission.Fixed(1), admission.Config{Observer: func(e admission.Event) {
		if e.Kind == admission.Released {
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
	downstream := aimdgrpc.NotSent(errors.New("queue full"))
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
		unary, stream, err := aimdgrpc.ServerInterceptors(controller, aimdgrpc.ServerConfig{})
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
		unary, stream, err := aimdgrpc.ServerInterceptors(controller, aimdgrpc.ServerConfig{Slow: time.Second})
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
	unary, _, err := aimdgrpc.ServerInterceptors(controller,
		aimdgrpc.ServerConfig{
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
