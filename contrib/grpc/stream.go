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
	"github.com/aimd-go/aimd/internal/fact"
	"github.com/aimd-go/aimd/internal/run"
)

// stream waits for a slot before it opens a stream, which then holds the slot.
func (c *client) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s := &stream{client: c, caller: ctx}
	if isPerMessage(opts) {
		ctx, s.cancel = context.WithCancel(ctx)
		s.ctx = context.WithValue(ctx, fact.NumberKey{}, 1) // a message is no retry
		s.unused = true
	}
	a, err := c.admit(ctx)
	if err != nil {
		s.free()
		return nil, err
	}
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
	s.watch()
	return s, nil
}

// stream is a client's stream that holds a slot. Its methods and its ends may come at the same time.
type stream struct {
	grpc.ClientStream
	client *client
	// caller is the context with which the stream was opened.
	caller context.Context
	// held is the attempt at hand, nil after its end. Whoever swaps it out ends it.
	held atomic.Pointer[run.Attempt]
	// busy counts the calls of the stream's methods that have not returned.
	busy atomic.Int32
	// over: the stream has ended. It is set before held is swapped out.
	over atomic.Bool
	// hopeless is the stream's verdict, if that has a reason not to try again.
	hopeless atomic.Pointer[attempt.Verdict]
	// forget ends the watch over the context, nil without a watch.
	forget atomic.Pointer[func() bool]

	// With SlotPerMessage: the context of its messages, and whether the slot with which the stream was
	// opened still waits for the first message. nil for other streams.
	ctx    context.Context
	cancel context.CancelFunc
	unused bool
}

// watch gives the slot back when the context ends, as gRPC's OnFinish if no interceptor is between.
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
		s.busy.Dec()
		if !returned {
			s.over.Store(true)
			s.drop()
			s.free()
		}
	}()
	err := call()
	returned = true
	return err
}

// finished ends the stream, with nil after a success. It may be called several times.
func (s *stream) finished(err error) {
	s.over.Store(true)
	defer s.free()
	if s.busy.Load() > 0 {
		s.release(err)
	} else {
		s.drop() // no call waited for the service: the reader was slow
	}
}

// free frees the stream's context and its watch.
func (s *stream) free() {
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

// drop drops the attempt at hand, if it has not ended.
func (s *stream) drop() {
	if a := s.held.Swap(nil); a != nil {
		a.Drop()
	}
}

// SlotPerMessage is an option for a call, or with grpc.WithDefaultCallOptions for all calls of a client.
// With it a stream holds a slot only while one of its messages is unanswered: SendMsg waits for a slot,
// and the next message received gives it back. It is for long streams of requests and answers, which
// would hold a slot for hours:
//
//	chat, err := client.Chat(ctx, aimdgrpc.SlotPerMessage())
//
// A stream holds at most one slot, so that it cannot wait for itself. If a message is sent before the
// previous one was answered, the slot of that one is given back first, as neutral. Opening the stream
// waits for a slot too, and the first message uses it. A SendMsg without a slot fails as [Limit] says,
// and ends the stream. Calls that are no streams ignore it.
func SlotPerMessage() grpc.CallOption { return slotPerMessage{} }

type slotPerMessage struct{ grpc.EmptyCallOption }

func isPerMessage(opts []grpc.CallOption) bool {
	return slices.ContainsFunc(opts, func(o grpc.CallOption) bool {
		_, ok := o.(slotPerMessage)
		return ok
	})
}

// next waits for the slot of the next message.
func (s *stream) next() error {
	unused := s.unused
	s.unused = false
	if unused && s.held.Load() != nil { // else the server spoke first
		return nil
	}
	s.drop()
	a, err := s.client.admit(s.ctx)
	switch {
	case err == nil:
		s.held.Store(a)
		if s.over.Load() { // meanwhile
			s.drop()
		}
		return nil
	case s.over.Load() && s.caller.Err() == nil:
		return nil // RecvMsg has the stream's error
	}
	s.finished(err)
	return err
}
