package upload

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

const (
	// answerMost is the longest answer that is read, in bytes. Our choice: a page of a
	// listing, a thousand keys of 1 KiB and what belongs to each, has some 5 MiB.
	answerMost = 16 << 20
	// answerTime is how long a request that was sent as a whole waits for its answer
	// after its context has ended. Our choice: more than a working store takes.
	answerTime = 5 * time.Second
)

// wire is the HTTP client below the SDK. It counts the bytes that the store has taken, and
// ends a request that changes the store in order. If the context ends while a request
// is sent, wire cuts it off, so that the store drops it. If a request was sent as a whole,
// the store may keep it, so wire waits for the answer.
type wire struct {
	aws.HTTPClient
	sent    atomic.Int64 // how many bytes of files the store has taken
	trouble atomic.Error // the error of the last request; nil: it was answered
}

// Do implements the SDK's HTTP client.
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		lasting, end := context.WithCancel(context.WithoutCancel(ctx))
		defer end()
		defer context.AfterFunc(ctx, func() { time.AfterFunc(answerTime, end) })()
		r = r.WithContext(lasting)
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &sending{ReadCloser: r.Body, ctx: ctx, left: r.ContentLength}
		}
	}
	resp, err := w.HTTPClient.Do(r)
	if err != nil {
		if ctx.Err() == nil {
			w.trouble.Store(cli.Reason(err))
		}
		return resp, err
	}
	w.trouble.Store(nil)
	if r.Method == http.MethodPut && resp.StatusCode < http.StatusMultipleChoices {
		w.sent.Add(r.ContentLength)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMost))
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, err
}

// sending is the body of a request on its way.
type sending struct {
	io.ReadCloser
	ctx  context.Context
	left int64 // how many bytes of the body were not read yet
}

// Read fails once the context has ended, but not behind the end of the body: the HTTP client
// reads there too, maybe after the store has answered.
func (s *sending) Read(p []byte) (int, error) {
	if err := context.Cause(s.ctx); err != nil && s.left > 0 {
		return 0, err
	}
	n, err := s.ReadCloser.Read(p)
	s.left -= int64(n)
	return n, err
}
