package grpclimit

import (
	"context"
	"io"
	"slices"
	"sync"

	"go.uber.org/atomic"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/aimd-go/aimd/attempt"
)

// stream waits for a slot before it opens a stream, which then holds the slot.
func (c *client) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	a, err := c.admit(ctx, method)
	if err != nil {
		return nil, err
	}
	s, within := &stream{attempt: a}, a.Context()
	// As gRPC's OnFinish, if an interceptor between does not pass it on.
	s.forget = context.AfterFunc(ctx, func() { s.end(status.FromContextError(ctx.Err()).Err()) })
	var header, trailer metadata.MD
	opts = append(slices.Clip(opts), grpc.Header(&header), grpc.Trailer(&trailer), grpc.OnFinish(func(err error) {
		// Also if the connection was closed while the stream was not read.
		s.finished(read(err, trailer, len(header)+len(trailer) > 0))
	}))
	err = s.during(func() error {
		var err error
		if s.ClientStream, err = open(within, desc, cc, method, opts...); err != nil {
			err = s.failed(err, nil)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// stream is a client's stream that holds a slot. Its methods and its ends may come at the same time.
type stream struct {
	grpc.ClientStream
	attempt *attempt.Attempt
	// head is done when the answer has begun, or the stream has ended without one.
	head sync.Once
	// busy counts the calls of the stream's methods that have not returned.
	busy atomic.Int32
	// hopeless is the reason not to try the stream again, if the verdict has one.
	hopeless atomic.Error
	// forget ends the watch over the context.
	forget func() bool
}

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

func (s *stream) RecvMsg(m any) error {
	return s.during(func() error {
		err := s.ClientStream.RecvMsg(m)
		switch {
		case err == io.EOF:
			s.finished(nil)
		case err != nil:
			err = s.failed(err, s.ClientStream.Trailer())
		default:
			s.begun()
		}
		return err
	})
}

func (s *stream) Header() (md metadata.MD, err error) {
	err = s.during(func() error {
		if md, err = s.ClientStream.Header(); err != nil {
			err = s.failed(err, nil)
		} else if md != nil { // otherwise the stream has ended, and RecvMsg has its error
			s.begun()
		}
		return err
	})
	return md, err
}

// begun notes that the answer has begun. From then on the stream may leave the limiter's window if it stays open.
func (s *stream) begun() { s.head.Do(func() { s.attempt.Head(nil) }) }

// failed ends the stream, and returns the error for the caller, with the reason if another stream would
// fail too. OnFinish has ended gRPC's own streams before.
func (s *stream) failed(err error, trailer metadata.MD) error {
	err = read(err, trailer, true)
	s.finished(err)
	return explained(s.hopeless.Load(), err)
}

// during runs a call of the stream. A panic in the call ends the stream.
func (s *stream) during(call func() error) error {
	returned := false
	s.busy.Inc()
	defer func() {
		s.busy.Dec()
		if !returned {
			s.forget()
			s.drop()
		}
	}()
	err := call()
	returned = true
	return err
}

// finished ends the stream, with nil after a success. It may be called several times.
func (s *stream) finished(err error) {
	s.forget()
	s.end(err)
}

// end gives the slot back. If no call waited for the service, the reader was slow.
func (s *stream) end(err error) {
	if s.busy.Load() == 0 {
		s.drop()
		return
	}
	s.head.Do(func() {})
	if v := s.attempt.End(err); v.Reason != nil {
		s.hopeless.Store(v.Reason)
	}
}

func (s *stream) drop() {
	s.head.Do(func() {})
	s.attempt.Drop()
}
