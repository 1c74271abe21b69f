package aimd

import (
	"context"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/quota"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/verdict"
)

// pause is a pause for all operations, which the gate has begun, or the wait for a quota.
type pause struct {
	until time.Time
	// asked is the Retry-After that it obeys, 0 for another cause; cut is MaxRetryAfter if shorter.
	asked, cut time.Duration
	// refusal is the error of the attempt that asked for it.
	refusal error
	// quota is the service's that is used up, if that is the cause; amount is that of the operation at the front.
	quota  *limiter.QuotaState
	amount float64
}

// paused notes a pause that has begun, and dismisses the operations that cannot wait for its end.
func (l *Limiter) paused(now, wait time.Duration, v verdict.Verdict, refusal error) {
	l.counts.Pauses++
	l.pause = pause{until: l.made.Add(now + wait)}
	stop := v.Meaning == answer.Stopped
	obeyed := quota.Asked{After: v.Wait, Stop: stop}.Within(l.settings.Load().MaxRetryAfter)
	if v.Wait == 0 || l.gate.Obeys() {
		l.pause.asked, l.pause.refusal = v.Wait, refusal
		if obeyed < v.Wait {
			l.pause.cut = obeyed
		}
	}
	l.note(now, Event{
		Kind: event.Paused, Wait: wait, RetryAfter: l.pause.asked, MaxRetryAfter: l.pause.cut, Err: l.pause.refusal,
	})
	l.dismiss(now)
}

// dismiss sends away the operations that cannot wait until the next send.
func (l *Limiter) dismiss(now time.Duration) {
	for i := range l.line.All() {
		l.front()
		l.dismissed(now, i.Value)
	}
}

// dismissed takes an operation that cannot wait out of the queue, and has it woken. It returns false for another.
func (l *Limiter) dismissed(now time.Duration, w *waiter) bool {
	err := l.hopeless(now, w)
	if err == nil || !l.line.Remove(&w.Waiter) {
		return false
	}
	w.dismissed = err
	l.woken.add(w)
	return true
}

// hopeless returns the error of an operation that cannot wait for the end of a pause or for a quota, because of its
// deadline or Config.MaxWait, or whose amount is no longer allowed. It returns nil if the operation may wait, and in shadow.
func (l *Limiter) hopeless(now time.Duration, w *waiter) error {
	if l.shadow() {
		return nil
	}
	if err := l.gate.Allowed(now, w.amount); err != nil {
		return wrong(err)
	}
	until, used := l.gate.ClosedUntil()
	most := l.settings.Load().MaxWait
	var reason error
	switch {
	case until <= now:
		return nil
	case most > 0 && until-now > most:
		reason = ErrWait
		if used != nil {
			reason = ErrQuota
		}
	case w.Deadline != 0 && until > w.Deadline:
		reason = context.DeadlineExceeded
	default:
		return nil
	}
	if l.gate.Doubted(now) {
		return l.hopeless(now, w)
	}
	p := l.pause
	if used != nil {
		p = pause{until: l.made.Add(until), quota: used, amount: l.gate.Amount}
	}
	return &pausedError{p, reason}
}

type pausedError struct {
	pause
	// reason is ErrWait, ErrQuota or DeadlineExceeded.
	reason error
}

func (e *pausedError) Unwrap() error { return e.reason }

// Error says until when, and which answer asked for that:
//
//	paused until 11:23:07: Retry-After 12h0m0s of "429 Too Many Requests: DAILY_LIMIT_EXCEEDED"
func (e *pausedError) Error() string {
	text := "paused until " + clockTime(e.until)
	if e.reason != context.DeadlineExceeded {
		text = fmt.Sprintf("%v: %s", e.reason, text)
	}
	switch {
	case e.quota != nil:
		text += fmt.Sprintf(": the service's quota is used up, %s of %s %s left", number(e.quota.Left), number(e.quota.Limit), e.quota.Name)
		if e.amount > 0 {
			text += fmt.Sprintf(" for an operation of %s", number(e.amount))
		}
		return text
	case e.asked == 0:
		return text + ": refused again and again"
	}
	text += fmt.Sprintf(": Retry-After %v", e.asked)
	if e.cut > 0 {
		text += fmt.Sprintf(" (cut to %v by MaxRetryAfter)", e.cut)
	}
	if e.refusal != nil {
		text += fmt.Sprintf(" of %.200q", e.refusal.Error())
	}
	return text
}

// clockTime is the time of day, with its date if it is not near.
func clockTime(t time.Time) string {
	if until := time.Until(t); until > 12*time.Hour || until < -12*time.Hour {
		return t.Format(time.DateTime)
	}
	return t.Format(time.TimeOnly)
}
