package httplimit

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aimd-go/aimd/limiter"
)

// attempt is a request that got its slot. Whoever has it ends it, once.
type attempt struct {
	limiter *limiter.Limiter
	permit  limiter.Permit
	// guards have admitted the attempt; nil: none was asked.
	guards limiter.Guards
	ctx    context.Context
	// heard: the head of an answer came.
	heard bool
	// patient: the attempt had at least half of the time from the request to its
	// deadline; the wait for the slot had the rest. If time runs out on a
	// patient attempt, that tells of the service. If it runs out on another, it
	// tells of the queue, and must not narrow the window: a narrower window
	// makes the queue slower still (metastable collapse). Half is our choice.
	patient bool
}

// end releases the slot, and tells the guards.
func (a *attempt) end(v limiter.Verdict) {
	o := v.Outcome
	if o == limiter.Neutral && !a.heard {
		o = 0 // the service said nothing
	}
	defer a.guards.Ended(a.ctx, o) // whatever the limiter's observer does
	// A second release would be an error, but there is none: see body.ended.
	_ = a.permit.Settle(v)
}

// answered is what the head of an answer says.
func (a *attempt) answered(resp *http.Response) limiter.Verdict {
	if resp.StatusCode < http.StatusBadRequest {
		return limiter.Verdict{Outcome: limiter.Success}
	}
	// By way of the classifier, so that a limiter reads an answer the same way
	// here and in Do with Check. By default it is limiter.ClassifyStatus.
	return a.limiter.Classify(newStatusError(resp, time.Now()))
}

// failed is what an error of the base, or of the body, says.
func (a *attempt) failed(err error) limiter.Verdict {
	if v, over := a.over(); over {
		return v
	}
	if err == nil { // a base that returns neither an answer nor an error
		return limiter.Verdict{Outcome: limiter.Neutral}
	}
	return a.limiter.Classify(err)
}

// over reports whether the request's own context ended, and what that says. It
// goes by the context, not by an error: that may be any, see context.Cause.
func (a *attempt) over() (limiter.Verdict, bool) {
	err := a.ctx.Err()
	if err == nil {
		// http.Client.Timeout also closes Request.Cancel at the deadline, which
		// may be seen a little earlier than the end of the context.
		deadline, bounded := a.ctx.Deadline()
		if !bounded || time.Now().Before(deadline) {
			return limiter.Verdict{}, false
		}
		err = context.DeadlineExceeded
	}
	if a.patient && errors.Is(err, context.DeadlineExceeded) {
		return limiter.Verdict{Outcome: limiter.Timeout}, true
	}
	return limiter.Verdict{Outcome: limiter.Neutral}, true
}

// bodyless reports whether an answer has no body that could end later. HTTP/2
// does not say so with http.NoBody, and a ContentLength of 0 says it only from
// there on: hand-made answers often leave it unset.
func bodyless(req *http.Request, resp *http.Response) bool {
	switch {
	case resp.Body == nil, resp.Body == http.NoBody, req.Method == http.MethodHead:
		return true
	case resp.StatusCode == http.StatusNoContent, resp.StatusCode == http.StatusNotModified:
		return true
	}
	return resp.ProtoMajor >= 2 && resp.ContentLength == 0
}
