package attempt

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Attempt is one attempt of an operation: its guards have admitted it, and it has a slot. aimd.Limiter.Begin makes it,
// or a Runner.
//
// Every attempt must be ended, or its slot is never free again. It ends with the first call of End or Drop, or with
// the body of Body; later calls have no effect. So "defer a.Drop()" after Begin is right, and covers a panic.
//
// End, Drop and the methods of the body are safe for any number of goroutines. One goroutine calls the
// other methods, before the end, and Next after it.
type Attempt struct {
	// An attempt is its own context and body, by a change of its type (attemptContext, attemptBody): one allocation of 112
	// bytes, so that a limiter costs little in front of HTTP. A Limiter is its own Slots likewise.

	runner *Runner
	ctx    context.Context
	// ticket is the slot's, if the attempt owns one.
	ticket window.Ticket
	// rest has what most attempts do not need, nil until it is needed.
	rest *rest
	// asked is the time when the operation began, 0 without a deadline. began is the time when the attempt began, 0
	// if the service had answered before. Both count from start.
	asked, began time.Duration

	// inner is the answer's body, nil without Body; forget ends the watch over ctx.
	inner  io.ReadCloser
	forget func() bool
	// reading counts the calls of Read that wait for the service.
	reading atomic.Int32

	// ended: the attempt has ended, or its end has begun.
	ended atomic.Bool
	// number is the attempt's within its operation, 0 if it is not known.
	number int32
	owns   bool
	// guarded: the runner's guards have admitted it.
	guarded bool
	// heard: an answer began.
	heard bool
	// patient: the attempt had at least half of the time that the operation had left when it asked. If time
	// runs out on another attempt, the queue was too long: a narrower window would make it slower still
	// (metastable collapse). Half is our choice.
	patient bool
}

// rest is the part of an Attempt that has its own timeout, or that did not succeed.
type rest struct {
	// limited is the caller's context with the attempt's own timeout.
	limited context.Context
	cancel  context.CancelFunc
	// verdict is the verdict on the head of the answer, and then on the attempt; settled is its end.
	verdict verdict.Verdict
	settled time.Time
	// refusal is the error that the verdict is about.
	refusal error
	// forgotten: the service's name is no longer found.
	forgotten bool
	past
}

// past is what an attempt leaves to the next of its operation.
type past struct {
	// guessed is the begin of the operation's run of guessed refusals; zero without a run.
	guessed time.Time
	// hurt counts the attempts whose bytes were hurt.
	hurt int
	// run has the operation's failures in a row.
	run limiter.Run
}

func (a *Attempt) more() *rest {
	if a.rest == nil {
		a.rest = new(rest)
	}
	return a.rest
}

// Context is the caller's context with the attempt's Number and its slot. Do the work of the attempt under it.
func (a *Attempt) Context() context.Context {
	if a.rest != nil && a.rest.limited != nil {
		return a.rest.limited
	}
	return (*attemptContext)(a)
}

// Within reports whether the attempt is part of another attempt, for instance within Do, and uses its slot.
func (a *Attempt) Within() bool { return a.runner.Slots != nil && !a.owns }

func (a *Attempt) limit(d time.Duration) {
	if d > 0 {
		r := a.more()
		r.limited, r.cancel = wall.WithTimeout((*attemptContext)(a), d)
	}
}

// Head notes the head of an answer whose end comes later. err is the error of the head, nil for a success. quotas
// are its reports: the limiter paces the attempts by the valid reports. Head returns the verdict on the head. Call
// it once, before the end. If the rest breaks off, the service has answered nevertheless. An answer that stays open after
// a head without an error may leave the limiter's window: see Body.
func (a *Attempt) Head(err error, quotas ...answer.Quota) verdict.Verdict {
	v := verdict.Verdict{Meaning: answer.Success}
	if err != nil {
		f := verdict.Read(err)
		if v = a.judged(err, f); !v.Known() {
			v.Meaning = answer.Final // an answer that is no success
		}
		a.failed(v, f, err)
		r := a.more()
		r.verdict, r.refusal = v, err
	}
	a.heard = true
	if s := a.runner.Slots; s != nil {
		s.Contact(true, nil)
		a.reported(s, v, quotas)
		if a.owns && v.Meaning == answer.Success {
			s.Opened(a.ticket)
		}
	}
	return v
}

// reported passes the reports on. An attempt without its own slot reports for the attempt that has the slot.
func (a *Attempt) reported(s Slots, v verdict.Verdict, reports []answer.Quota) {
	if len(reports) == 0 {
		return
	}
	reports = slices.Clone(reports)
	for i := range reports {
		reports[i].Name = answer.Cleaned(reports[i].Name)
	}
	s.Reported(a.slot(), v, reports)
}

// slot is the ticket of the slot that the attempt has, or is part of.
func (a *Attempt) slot() window.Ticket {
	if a.owns {
		return a.ticket
	}
	ticket, _ := a.ctx.Value(a.runner.Slots).(window.Ticket)
	return ticket
}

// End ends the attempt: it classifies the error, gives the slot back and notifies the guards. nil is a success, or what
// the Head said. End returns the verdict, or the zero Verdict if the attempt had ended before. If the classifier panics,
// the attempt is neutral, and the panic continues.
func (a *Attempt) End(err error) verdict.Verdict {
	if !a.claim() {
		return verdict.Verdict{}
	}
	return a.end(err)
}

// Drop ends an attempt without a result. It is what the Head said, and neutral without one.
func (a *Attempt) Drop() {
	if a.claim() {
		a.drop()
	}
}

// claim returns true to one caller, which ends the attempt.
func (a *Attempt) claim() bool { return !a.ended.Swap(true) }

// end is End after the claim.
func (a *Attempt) end(err error) verdict.Verdict {
	if v := a.begun(); err == nil && v.Meaning == answer.Success { // most: no body is read
		a.settle(a.noted(v, verdict.Reading{}, nil), window.Success, nil)
		return v
	}
	v := verdict.Verdict{Meaning: answer.Final}
	var heard window.Outcome // what the guards hear
	defer func() { a.settle(v, heard, err) }()
	f := verdict.Read(err)
	v = a.verdict(err, f)
	switch heard = v.Outcome(); {
	case heard == window.Unclear && a.served():
		heard = window.Timeout
	case (heard == window.Neutral || heard == window.Unclear) && !a.heard && (f.Unanswered || a.over() != nil):
		heard = 0
	}
	v = a.noted(v, f, err)
	if err != nil && (!a.heard || a.begun().Meaning == answer.Success) {
		a.failed(v, f, err)
	}
	if v.Meaning == answer.Final {
		err = a.left(err)
	}
	return v
}

// left is why the attempt's caller left before its answer, whatever the transport calls it, otherwise err.
func (a *Attempt) left(err error) error {
	switch over := a.over(); {
	case over == nil:
		return err
	case a.heard && errors.Is(over, context.Canceled):
		return nil // who stops to read has had its answer
	default:
		return over
	}
}

// failed notes a failure in the run of the operation, unless the caller has gone. A head that failed is noted at once, since the
// decision on another attempt may come before the end of the body.
func (a *Attempt) failed(v verdict.Verdict, f verdict.Reading, err error) {
	if v.Meaning == answer.Partly || v.Meaning == answer.Mostly { // the service took a part: a new run begins
		a.more().run = limiter.Run{Patient: a.more().run.Patient}
		return
	}
	if s := a.runner.Slots; s != nil && v.Retry() && v.Meaning != answer.Stopped && a.over() == nil && s.Reached() {
		s.Failed(a.slot(), &a.more().run, v, f.Unanswered, err)
	}
}

// run is that of the operation, nil without a failure.
func (a *Attempt) run() *limiter.Run {
	if a.rest == nil {
		return nil
	}
	return &a.rest.run
}

// drop is Drop after the claim.
func (a *Attempt) drop() {
	if a.heard {
		a.end(nil)
		return
	}
	a.settle(verdict.Verdict{Meaning: answer.Final}, 0, nil)
}

func (a *Attempt) settle(v verdict.Verdict, heard window.Outcome, err error) {
	if v.Meaning != answer.Success {
		r := a.more()
		r.verdict, r.settled = v, wall.Now()
		if r.refusal == nil { // an answer that was a refusal says more than how it broke off
			r.refusal = err
		}
		err = r.refusal
	}
	if a.rest != nil && a.rest.cancel != nil {
		a.rest.cancel()
	}
	if a.owns {
		a.runner.Slots.Settle(a.ticket, v, err, a.run())
	}
	if a.guarded {
		guards(a.runner.Guards).ended(a.ctx, heard)
	}
}

// begun is the verdict on the head, a success without one.
func (a *Attempt) begun() verdict.Verdict {
	if a.rest == nil || a.rest.verdict == (verdict.Verdict{}) && a.rest.refusal == nil {
		return verdict.Verdict{Meaning: answer.Success}
	}
	return a.rest.verdict
}

func (a *Attempt) verdict(err error, f verdict.Reading) verdict.Verdict {
	switch {
	case err == nil && !a.heard:
		return verdict.Verdict{Meaning: answer.Success}
	case err == nil, a.heard && a.begun().Outcome().Overloaded(): // how a refusal breaks off is no news
		return a.begun()
	}
	return a.judged(err, f)
}

// judged is the classifier's verdict. If the classifier does not know more, it depends on whose time ran out.
func (a *Attempt) judged(err error, f verdict.Reading) verdict.Verdict {
	v := f.By(a.runner.Classifier)
	if o := v.Outcome(); !v.Known() || o == window.Timeout || o == window.Neutral && f.OfContext && !f.Unsent {
		v = a.timed(v)
	}
	if v.Meaning == answer.Hurt {
		if a.more().hurt++; a.rest.hurt > mostHurt {
			v.Meaning = answer.Final
		}
	}
	if v.Meaning == answer.Denied && a.owns && a.runner.Slots.Denied(a.ticket, err, a.number > 1) {
		v.Meaning = answer.Refused
	}
	return v
}

// mostHurt is how often an operation is tried again whose bytes were hurt. Our choice: who sends another checksum than that of
// the bytes gets the same answer each time.
const mostHurt = 3

// timed is the verdict by whose time ran out, or v if no time did.
func (a *Attempt) timed(v verdict.Verdict) verdict.Verdict {
	switch over := a.over(); {
	case a.served():
		return verdict.Verdict{Meaning: answer.Unclear} // one answer that is longer than the others is no overload
	case over == nil && a.rest != nil && a.rest.limited != nil && passed(a.rest.limited) != nil:
		return verdict.Verdict{Meaning: answer.Slow, Wait: v.Wait}
	case over == nil:
		return v
	}
	return verdict.Verdict{Meaning: answer.Final}
}

// served reports whether the caller's deadline passed, and the service had at least half of the time.
func (a *Attempt) served() bool { return a.patient && errors.Is(a.over(), context.DeadlineExceeded) }

// over is why the caller's context is over, nil if it is not.
func (a *Attempt) over() error { return passed(a.ctx) }
