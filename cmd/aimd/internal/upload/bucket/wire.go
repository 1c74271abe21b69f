package bucket

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
)

// Wire watches the requests of a client where they are sent.
type Wire struct {
	mu sync.Mutex
	// trouble is the last error of sending, since when there were such errors and
	// no answer in between. Guarded by mu.
	trouble error
	since   time.Time

	// longest is the longest answer that is read, in bytes; 0: answerMost.
	longest int64
}

// Trouble is why no answers have come for some time; nil: they come.
func (w *Wire) Trouble(longer time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble == nil || time.Since(w.since) < longer {
		return nil
	}
	return reach.Innermost(w.trouble)
}

func (w *Wire) saw(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.trouble == nil {
		w.since = time.Now()
	}
	w.trouble = err
}

// Watch is the middleware. Add it to the client's APIOptions.
func (w *Wire) Watch(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("aimd-upload-wire",
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
			middleware.DeserializeOutput, middleware.Metadata, error,
		) {
			if f := followed(ctx); f != nil {
				f.attempts.Add(1)
			}
			send := next.HandleDeserialize
			if t, ok := ctx.Value(transferKey{}).(*transfer); ok {
				send = t.through(send)
			}
			out, metadata, err := send(ctx, in)
			if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
				w.saw(err)
			}
			if r, ok := out.RawResponse.(*smithyhttp.Response); ok && r != nil && r.Response != nil && r.Body != nil {
				r.Body = &bounded{ReadCloser: r.Body, left: cmp.Or(w.longest, answerMost)}
			}
			return out, metadata, err
		}), middleware.After)
}

// answerMost is the longest answer that is read, in bytes: a page of a listing, a
// thousand keys of 1 KiB and what is told of each, has some 5 MiB. Our choice.
const answerMost = 16 << 20

// errLongAnswer is of an answer that would fill the memory.
var errLongAnswer = errors.New("the store's answer is too long")

type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errLongAnswer
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	b.left -= int64(n)
	return n, err
}

// following is what is told of the requests of a context.
type following struct {
	attempts atomic.Int64
	sent     func(int64)
}

type followKey struct{}

// Follow returns a context whose requests are counted as they are sent. sent is told
// of the bytes of files that go out, as they go; and of as many less, if they have
// to go once more.
func Follow(ctx context.Context, sent func(int64)) (context.Context, *atomic.Int64) {
	f := &following{sent: sent}
	return context.WithValue(ctx, followKey{}, f), &f.attempts
}

func followed(ctx context.Context) *following {
	f, _ := ctx.Value(followKey{}).(*following)
	return f
}

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
