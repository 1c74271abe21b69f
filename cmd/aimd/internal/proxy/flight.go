package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	answers "github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

// flight is one attempt of a request: the time for which it is in flight is no wait.
type flight struct{ *proxy }

func (f flight) RoundTrip(r *http.Request) (*http.Response, error) {
	wait := waitOf(r)
	if err := wait.fly(); err != nil {
		return nil, err
	}
	var far *sent
	if r.Body != nil || f.maybe2 {
		r, far = send(r, f.idle)
	}
	resp, err := f.send(r)
	if err == nil && resp.StatusCode < http.StatusContinue { // to write it is a panic of net/http
		_ = resp.Body.Close()
		resp, err = nil, fmt.Errorf("the service answered with the status %03d", resp.StatusCode)
	}
	if far != nil {
		far.next(func() { far.over, far.heard = far.over || err != nil, true })
		if err != nil && context.Cause(r.Context()) == errSilent && !errors.Is(err, errLocked) {
			err = errSilent
		}
	}
	wait.land(resp, err)
	return resp, err
}

var errLocked error = locked{fmt.Errorf("net/http does not come back: %w", os.ErrDeadlineExceeded)}

// locked says nothing of the service's load.
type locked struct{ error }

func (l locked) Unwrap() error { return l.error }
func (locked) Facts() verdict.Facts {
	return verdict.Facts{Verdict: verdict.Verdict{Meaning: answers.Unclear}, Reach: verdict.Unanswered}
}

// send is the round trip. One frame of a service can lock the client of HTTP/2 in Go 1.26 out of its own lock: a
// WINDOW_UPDATE that overflows the window of a stream. Then no round trip to any host returns, whatever its context says. One
// that is not back --idle after its context's end is given up, and the next goes over a new Transport.
func (f flight) send(r *http.Request) (*http.Response, error) {
	base := f.fresh.Load()
	if !f.maybe2 {
		return base.RoundTrip(r)
	}
	var resp *http.Response
	var err error
	came := make(chan struct{})
	go func() {
		defer close(came)
		resp, err = base.RoundTrip(r)
	}()
	select {
	case <-came:
		return resp, err
	case <-r.Context().Done():
	}
	select {
	case <-came:
		return resp, err
	case <-time.After(f.idle):
	}
	if f.fresh.Load() == base && f.fresh.CompareAndSwap(base, f.base.Clone()) {
		f.log.Error("net/http does not come back from the service, which may be hostile: requests go over new connections", "within", f.idle.String())
	}
	return nil, errLocked
}
