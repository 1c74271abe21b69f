package aimdgrpc

import (
	"context"
	"io"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/fact"
	"github.com/aimd-go/aimd/internal/run"
	"github.com/aimd-go/aimd/limiter"
)

// StreamClientInterceptor is the part of Limit for streams: each waits for a slot
// before it is opened, and holds it to its end, or with SlotPerMessage while a
// message of it is unanswered.
func StreamClientInterceptor(l *limiter.Limiter) grpc.StreamClientInterceptor {
	return newClient(l).stream
}

func (c *client) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s := &stream{client: c, caller: ctx}
	if isPerMessage(opts) {
		s.ctx, s.cancel = context.WithCancel(ctx)
		s.unused = true
		ctx = s.ctx
	}
	a, err := c.admit(ctx)
	if err != nil {
		s.letGo()
		return nil, err
	}
	s.held.Store(a)
	var header, trailer metadata.MD
	opts = append(slices.Clip(opts), grpc.Header(&header), grpc.Trailer(&trailer), grpc.OnFinish(func(err error) {
		// Also when the connection was closed and nobody reads the stream.
		s.finished(told(err, trailer, len(header)+len(trailer) > 0))
	}))
	err = s.during(func() error {
		var err error
		if s.ClientStream, err = open(a.Context(), desc, cc, method, opts...); err != nil {
			err = s.failed(err, nil)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.ctx != nil {
		s.ctx = context.WithValue(s.ctx, fact.NumberKey{}, 1) // no message is a retry
	}
	s.watch()
	return s, nil
}

// stream is a client's stream that holds a slot. SendMsg, RecvMsg, the end of
// the context and that of the connection may come at the same time.
type stream struct {
	grpc.ClientStream
	client *client
	// caller is the context with which the stream was opened.
	caller context.Context
	// held is the attempt at hand; nil: it has ended. Whoever swaps it out ends it.
	held atomic.Pointer[run.Attempt]
	// busy counts the calls of the stream's methods that have not returned.
	busy atomic.Int32
	// over: the stream has ended. It is set before held is swapped out.
	over atomic.Bool
	// hopeless is what the stream came to if there is a reason not to try again.
	hopeless atomic.Pointer[attempt.Verdict]
	// forget ends the watch over the context; nil: it is not watched.
	forget atomic.Pointer[func() bool]

	// With SlotPerMessage: the stream's own context, and unused while the slot
	// with which it was opened waits for the first message. Of other streams, nil.
	ctx    context.Context
	cancel context.CancelFunc
	unused bool
}

// watch gives the slot back when the context ends. gRPC tells of that too, by OnFinish,
// unless another interceptor stands between.
func (s *stream) watch() {
	if s.caller.Done() == nil {
		return
	}
	forget := context.AfterFunc(s.caller, func() { s.finished(status.FromContextError(s.caller.Err()).Err()) })
	s.forget.Store(&forget)
	if s.over.Load() {
		forget()
	}
}

// SendMsg sends a message. With SlotPerMessage it first waits for a slot.
func (s *stream) SendMsg(m any) error {
	if s.ctx != nil {
		if err := s.next(); err != nil {
			return err
		}
	}
	return s.during(func() error {
		err := s.ClientStream.SendMsg(m)
		if err != nil && err != io.EOF { // io.EOF: RecvMsg tells how the stream ended
			err = told(err, nil, true)
			s.finished(err)
		}
		return err
	})
}

// RecvMsg receives a message, or how the stream ended.
func (s *stream) RecvMsg(m any) error {
	return s.during(func() error {
		err := s.ClientStream.RecvMsg(m)
		switch {
		case err == nil && s.ctx != nil:
			s.release(nil)
		case err == io.EOF:
			s.finished(nil)
		case err != nil:
			err = s.failed(err, s.ClientStream.Trailer())
		}
		return err
	})
}

// Header waits for the header of the answer.
func (s *stream) Header() (md metadata.MD, err error) {
	err = s.during(func() error {
		if md, err = s.ClientStream.Header(); err != nil {
			err = s.failed(err, nil)
		}
		return err
	})
	return md, err
}

// failed is told with what the stream failed, and returns that for the caller, with the
// reason if another stream is of no use.
func (s *stream) failed(err error, trailer metadata.MD) error {
	err = told(err, trailer, true) // OnFinish knows whether it was reached
	s.finished(err)
	if v := s.hopeless.Load(); v != nil {
		err = explained(*v, err)
	}
	return err
}

// during runs a call of the stream. If it panics, that is the stream's end.
func (s *stream) during(call func() error) error {
	returned := false
	s.busy.Add(1)
	defer func() {
		s.busy.Add(-1)
		if !returned {
			s.over.Store(true)
			s.drop()
			s.letGo()
		}
	}()
	err := call()
	returned = true
	return err
}

// finished is told how the stream ended, nil for well, perhaps several times.
func (s *stream) finished(err error) {
	s.over.Store(true)
	defer s.letGo()
	if s.busy.Load() > 0 {
		s.release(err)
	} else {
		// The context or the connection ended while nothing waited for the service: if
		// anything was slow, it was the reader.
		s.drop()
	}
}

// letGo frees what the stream keeps besides its slot.
func (s *stream) letGo() {
	if forget := s.forget.Load(); forget != nil {
		(*forget)()
	}
	if s.cancel != nil {
		s.cancel()
	}
}

// release ends the attempt at hand, if it has not ended.
func (s *stream) release(err error) {
	if a := s.held.Swap(nil); a != nil {
		if v := a.End(err); v.Reason != nil {
			s.hopeless.Store(&v)
		}
	}
}

// drop is release where nothing was learned.
func (s *stream) drop() {
	if a := s.held.Swap(nil); a != nil {
		a.Drop()
	}
}
