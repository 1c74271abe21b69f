package aimdgrpc

import (
	"context"
	"io"
	"slices"

	"go.uber.org/atomic"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/run"
)

// stream waits for a slot before it opens a stream, which then holds the slot.
func (c *client) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	a, err := c.admit(ctx)
	if err != nil {
		return nil, err
	}
	s := &stream{}
	s.held.Store(a)
	var header, trailer metadata.MD
	opts = append(slices.Clip(opts), grpc.Header(&header), grpc.Trailer(&trailer), grpc.OnFinish(func(err error) {
		// Also if the connection was closed while the stream was not read.
		s.finished(read(err, trailer, len(header)+len(trailer) > 0))
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
	s.watch(ctx)
	return s, nil
}

// stream is a client's stream that holds a slot. Its methods and its ends may come at the same time.
type stream struct {
	grpc.ClientStream
	// held is the attempt, nil after its end. Whoever swaps it out ends it.
	held atomic.Pointer[run.Attempt]
	// busy counts the calls of the stream's methods that have not returned.
	busy atomic.Int32
	// hopeless is the stream's verdict, if that has a reason not to try again.
	hopeless atomic.Pointer[attempt.Verdict]
	// forget ends the watch over the context, nil without a watch.
	forget atomic.Pointer[func() bool]
}

// watch gives the slot back when the context ends, as gRPC's OnFinish if no interceptor is between.
func (s *stream) watch(ctx context.Context) {
	if ctx.Done() == nil {
		return
	}
	forget := context.AfterFunc(ctx, func() { s.finished(status.FromContextError(ctx.Err()).Err()) })
	s.forget.Store(&forget)
	if s.held.Load() == nil {
		forget()
	}
}

// SendMsg sends a message.
func (s *stream) SendMsg(m any) error {
	return s.during(func() error {
		err := s.ClientStream.SendMsg(m)
		if err != nil && err != io.EOF { // after io.EOF, RecvMsg has the stream's error
			err = read(err, nil, true)
			s.finished(err)
		}
		return err
	})
}

// RecvMsg receives a message, or the end of the stream.
func (s *stream) RecvMsg(m any) error {
	return s.during(func() error {
		err := s.ClientStream.RecvMsg(m)
		switch err {
		case nil:
		case io.EOF:
			s.finished(nil)
		default:
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

// failed ends the stream, and returns the error for the caller, with the reason if another stream would
// fail too. OnFinish has ended gRPC's own streams before.
func (s *stream) failed(err error, trailer metadata.MD) error {
	err = read(err, trailer, true)
	s.finished(err)
	if v := s.hopeless.Load(); v != nil {
		err = explained(*v, err)
	}
	return err
}

// during runs a call of the stream. A panic in the call ends the stream.
func (s *stream) during(call func() error) error {
	returned := false
	s.busy.Inc()
	defer func() {
		if s.busy.Dec(); !returned {
			s.ended((*run.Attempt).Drop)
		}
	}()
	err := call()
	returned = true
	return err
}

// finished ends the stream, with nil after a success. If no call of the stream waits for the service, the
// reader was slow, and the attempt has no result.
func (s *stream) finished(err error) {
	busy := s.busy.Load() > 0 // before ended: the same end of the context breaks off a RecvMsg, which returns
	s.ended(func(a *run.Attempt) {
		if !busy {
			a.Drop()
		} else if v := a.End(err); v.Reason != nil {
			s.hopeless.Store(&v)
		}
	})
}

// ended ends the attempt, if it has not ended, and the watch.
func (s *stream) ended(end func(*run.Attempt)) {
	defer func() {
		if forget := s.forget.Load(); forget != nil {
			(*forget)()
		}
	}()
	if a := s.held.Swap(nil); a != nil {
		end(a)
	}
}
