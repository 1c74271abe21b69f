package bucket

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// answerTime is how long a part that was sent as a whole is given to be answered
// when its context has ended. Our choice: more than a store takes that works.
const answerTime = 5 * time.Second

// transfer is a part of a file on its way to the store, in as many attempts as it
// takes, one after the other.
//
// An attempt whose context ends is cut off while it sends, and then the store
// has nothing of it. Once all is sent the store may keep it at any time: if
// lasting, its answer is waited for.
type transfer struct {
	sent    func(int64)
	lasting bool
	// unanswered: the last attempt was sent as a whole and got no answer.
	unanswered bool
	// release is called by end.
	release []context.CancelFunc
}

type transferKey struct{}

// transferring is the context for the request that carries the transfer.
func transferring(ctx context.Context, lasting bool) (context.Context, *transfer) {
	t := &transfer{lasting: lasting, sent: func(int64) {}}
	if f := followed(ctx); f != nil {
		t.sent = f.sent
	}
	return context.WithValue(ctx, transferKey{}, t), t
}

// end frees what the transfer holds. Call it when the request has returned.
func (t *transfer) end() {
	for _, f := range t.release {
		f()
	}
}

type handler = func(context.Context, middleware.DeserializeInput) (middleware.DeserializeOutput, middleware.Metadata, error)

// through has the request's body go through a stream.
func (t *transfer) through(send handler) handler {
	return func(ctx context.Context, in middleware.DeserializeInput) (out middleware.DeserializeOutput, m middleware.Metadata, err error) {
		t.unanswered = false
		request, ok := in.Request.(*smithyhttp.Request)
		if !ok || request.ContentLength <= 0 || request.GetStream() == nil {
			return send(ctx, in)
		}
		s := &stream{from: request.GetStream(), ctx: ctx, size: request.ContentLength, sent: t.sent}
		if in.Request, err = request.SetStream(s); err != nil {
			return out, m, err
		}
		if t.lasting {
			lasting, release := Outlast(ctx, answerTime)
			t.release = append(t.release, release) // not now: the answer is still to be read
			ctx = lasting
		}
		out, m, err = send(ctx, in)
		code := 0 // the SDK makes an answer with this one of none
		if answer, ok := out.RawResponse.(*smithyhttp.Response); ok && answer != nil && answer.Response != nil {
			code = answer.StatusCode
		}
		whole := s.end(200 <= code && code < 300)
		t.unanswered = whole && code == 0
		return out, m, err
	}
}

type stream struct {
	from io.Reader
	ctx  context.Context
	size int64
	sent func(int64)

	mu sync.Mutex
	// n is how many bytes were read. over: the attempt has ended. Guarded by mu.
	n    int64
	over bool
}

// Read reads for the network, unless the context has ended.
func (s *stream) Read(p []byte) (int, error) {
	if err := context.Cause(s.ctx); err != nil {
		return 0, err
	}
	n, err := s.from.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.n += int64(n)
		s.sent(int64(n))
	}
	return n, err
}

// end ends the attempt, and reports whether all was sent.
func (s *stream) end(taken bool) (whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if taken {
		s.sent(s.size - s.n)
		return true
	}
	s.sent(-s.n)
	return s.n == s.size
}
