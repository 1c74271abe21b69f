package aimdgrpc

import (
	"slices"

	"google.golang.org/grpc"
)

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
