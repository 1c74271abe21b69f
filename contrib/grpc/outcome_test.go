package aimdgrpc_test

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
	"google.golang.org/grpc/status"

	"github.com/aimd-go/aimd/admission"
	aimdgrpc "github.com/aimd-go/aimd/contrib/grpc"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

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
		// Its deadline, which it chooses by itself, has passed
		{late, context.DeadlineExceeded, window.Neutral},
		{late, nil, window.Neutral},
		{late, refused, window.Overload},
		{gone, context.Canceled, window.Neutral},
		{gone, nil, window.Neutral},
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
