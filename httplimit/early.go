package httplimit

import (
	"errors"
	"io"
	"net/http"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

// early is the time in which a service hangs up that does not want the body. Our choice: some round trips, less
// than an upload takes before a poor network breaks it off.
const early = time.Second

// watched returns the request with a body that knows whether the base read it to its end. It also returns the error
// of a request without an answer: a cutShort if the connection broke off in the body, an unread if the body did. Many
// services refuse a long body before they have read it, and hang up: net/http then often reports the failed write, and
// not the answer.
func watched(req *http.Request) (*http.Request, func(error) error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, func(err error) error { return err }
	}
	began, whole, failed := time.Now(), new(atomic.Bool), new(atomic.Error)
	watch := func(body io.ReadCloser) io.ReadCloser {
		return &taking{ReadCloser: body, left: req.ContentLength, whole: whole, failed: failed}
	}
	sent := req.WithContext(req.Context())
	sent.Body = watch(req.Body)
	if req.GetBody != nil { // net/http sends again on its own if an idle connection was closed
		sent.GetBody = func() (io.ReadCloser, error) {
			body, err := req.GetBody()
			return watch(body), err
		}
	}
	return sent, func(err error) error {
		own := failed.Load()
		switch {
		case own != nil && errors.Is(err, own):
			return unread{err}
		case whole.Load() || !verdict.CutOff(err):
			return err
		}
		return &cutShort{err, time.Since(began) < early}
	}
}

// taking is a body that is being sent.
type taking struct {
	io.ReadCloser
	// left is the number of bytes not read yet, negative if the length is not known.
	left  int64
	whole *atomic.Bool
	// failed is why it could not be read, and closed says that the base wants no more, so that reading fails.
	failed *atomic.Error
	closed atomic.Bool
}

func (t *taking) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.left -= int64(n)
	switch {
	case err != nil && err != io.EOF && !t.closed.Load():
		t.failed.Store(err)
	case err == io.EOF, t.left == 0:
		t.whole.Store(true)
	}
	return n, err
}

func (t *taking) Close() error {
	t.closed.Store(true)
	return t.ReadCloser.Close()
}

// unread is the error of a body that the program could not read, a download that broke off for instance. It says
// nothing about the service, so its cause is hidden from the classifier; the program gets the cause.
type unread struct{ error }

// cutShort is the error of a connection that ended before the base had taken the whole body. The service cannot have
// the whole request, so the request may be sent again, whatever its method.
type cutShort struct {
	error
	early bool
}

func (c *cutShort) Unwrap() error { return c.error }

// Facts says that the service does not have the request. It refused the request if it hung up early.
func (c *cutShort) Facts() verdict.Facts {
	f := verdict.Facts{Reach: verdict.Unsent}
	if c.early {
		f.Verdict.Meaning = answer.Refused
	}
	return f
}
