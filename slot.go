package aimd

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/quota"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// slots is a Limiter as attempt.Slots.
type slots Limiter

func (s *slots) limiter() *Limiter { return (*Limiter)(s) }

func (s *slots) Take(ctx context.Context, retry bool, run limiter.Run) (window.Ticket, error) {
	aside, first := run.Aside()
	p, err := s.limiter().acquire(ctx, place{retry, aside, first})
	return p.t, err
}

func (s *slots) Settle(t window.Ticket, v verdict.Verdict, err error, run *limiter.Run) {
	l := s.limiter()
	l.lock()
	at := l.moved(t)
	if at != t {
		delete(l.resent, t.ID())
	}
	l.unlock(l.answered(at, l.taken(v), v, err, run))
}

// moved is the attempt in flight with that ticket now: see Again.
func (l *Limiter) moved(t window.Ticket) window.Ticket {
	if len(l.resent) > 0 {
		if at, ok := l.resent[t.ID()]; ok {
			return at
		}
	}
	return t
}

func (s *slots) Again(t window.Ticket, v verdict.Verdict, err error, run *limiter.Run) {
	l := s.limiter()
	l.lock()
	var now time.Duration
	if at := l.moved(t); l.gate.Has(at) && !l.shadow() {
		l.gate.Again, l.gate.Urgent = true, l.gate.IsUrgent(at)
		now = l.answered(at, l.taken(v), v, err, run)
		if l.resent == nil {
			l.resent = map[uint64]window.Ticket{}
		}
		l.resent[t.ID()], _ = l.gate.Tried(now)
	}
	l.unlock(now)
}

// unknown notes an error that nobody knows beside refusals, once a minute at most. Call it with mu.
func (l *Limiter) unknown(now time.Duration, o window.Outcome, v verdict.Verdict, err error) {
	switch {
	case o == window.Overload:
		l.refused = max(now, 1)
	case v.Known() || err == nil || l.refused == 0:
	default:
		if now = l.now(); now-l.refused < strange && now >= l.strange {
			l.strange = now + strange
			l.note(now, Event{Kind: event.Unknown, Err: err})
		}
	}
}

// strange is the time between two events of errors that nobody knows, and for which refusals are beside them. Our choice.
const strange = time.Minute

// taken is the outcome of an attempt for the gate. What is only passing is unclear, once the service has answered: most
// of the latest may be an outage. l may be nil.
func (l *Limiter) taken(v verdict.Verdict) window.Outcome {
	if v.Meaning == answer.Passing && l != nil && (*slots)(l).Reached() {
		return window.Unclear
	}
	return v.Outcome()
}

func (s *slots) Failed(t window.Ticket, run *limiter.Run, v verdict.Verdict, broken bool, err error) {
	l, own := s.limiter(), run.Own()
	final := v.Meaning == answer.Unclear || v.Meaning == answer.Passing && broken
	l.lock()
	now := l.now()
	l.gate.Failed(now, l.moved(t), run, l.taken(v), final, l.line.Flow())
	if own == 0 && run.Own() > 0 {
		l.counts.Aside++
		l.noteDoubled(now, Event{Kind: event.Aside, Count: l.counts.Aside, Err: err})
		if c := l.settings.Load(); run.Patient && c.MaxFailures == 0 {
			l.patient = now + c.MaxRetryAfter
		}
	}
	l.unlock(now)
}

// leftAside says that an Each has nothing left but so many items aside.
func (l *Limiter) leftAside(items int64) {
	l.lock()
	now := l.now()
	l.note(now, Event{Kind: event.Aside, Count: uint64(items), Wait: max(0, l.patient-now)})
	l.unlock(now)
}

func (s *slots) Reported(t window.Ticket, v verdict.Verdict, reports []answer.Quota) {
	l := s.limiter()
	l.lock()
	now := l.now()
	before, _ := l.gate.ClosedUntil()
	head := answer.Head{Refused: v.Outcome().Overloaded(), Stop: v.Meaning == answer.Stopped, RetryAfter: v.Wait, Reports: reports}
	if used, ok := l.gate.Reported(now, l.moved(t), head); ok {
		q := l.quota(used)
		l.note(now, Event{Kind: event.UsedUp, Quota: &q, Wait: used.Until - now})
	}
	if until, _ := l.gate.ClosedUntil(); until > before {
		l.dismiss(now)
	}
	l.unlock(now)
}

func (s *slots) Limits() attempt.Limits {
	c := s.limiter().settings.Load()
	return attempt.Limits{Attempts: c.MaxAttempts, Timeout: c.AttemptTimeout, MaxWait: c.MaxWait, MaxRetryAfter: c.MaxRetryAfter}
}

func (s *slots) Closed() (<-chan struct{}, error) { return s.shut, ErrClosed }

func (s *slots) Opened(t window.Ticket) {
	l := s.limiter()
	l.lock()
	var now time.Duration
	if l.line.Len() > 0 {
		now = l.now()
	}
	l.gate.HeadCame(now, l.moved(t))
	l.unlock(now)
}

// Lived takes no lock, and the time only if it matters.
func (s *slots) Lived() {
	if s.starved.Load() {
		s.lived.Store(s.limiter().now())
	}
}

func (s *slots) Waits(failures int, last window.Outcome, v verdict.Verdict, run *limiter.Run) (w attempt.Waits) {
	l := s.limiter()
	l.lock()
	defer l.mu.Unlock()
	stop := v.Meaning == answer.Stopped
	w.Backoffs, w.Backoff, w.Obeyed = l.gate.Waits(failures, last, v.Wait, stop, run)
	asked := quota.Asked{After: v.Wait, Stop: stop}.Within(l.settings.Load().MaxRetryAfter)
	if pause := l.gate.PausedUntil() - l.now(); asked > 0 && pause >= asked && !l.shadow() {
		w.Pause = pause
	}
	return w
}

// holds reports whether the context belongs to an attempt that has a slot of the limiter and has not ended.
func (l *Limiter) holds(ctx context.Context) bool { return ctx.Value((*slots)(l)) != nil }

// contact is whether the service is there. It is read and written without the lock.
type contact struct {
	made atomic.Bool
	// away is the time of the first attempt that found no service since the last answer; nil: no such attempt.
	away atomic.Pointer[time.Duration]
}

func (s *slots) Reached() bool { return s.contact.made.Load() }

func (s *slots) Contact(answered bool, err error) (made bool, reason error) {
	l, c := s.limiter(), &s.contact
	if answered {
		if !c.made.Load() {
			c.made.Store(true)
		}
		if c.away.Load() != nil {
			c.away.Store(nil)
		}
		return true, nil
	}
	now := l.now()
	if c.away.CompareAndSwap(nil, &now) {
		l.report(Event{Kind: event.Away, Err: err})
	}
	if c.made.Load() {
		return true, nil
	}
	if s.InContact(1) == 0 {
		return false, fmt.Errorf("%w in %v", ErrNeverAnswered, l.settings.Load().FirstContact)
	}
	return false, nil
}

// InContact cuts a delay to the rest of the FirstContact of a service that has never answered, so that operations
// report it in time.
func (s *slots) InContact(delay time.Duration) time.Duration {
	away, most := s.contact.away.Load(), s.limiter().settings.Load().FirstContact
	if most < 0 || away == nil || s.contact.made.Load() {
		return delay
	}
	return min(delay, max(0, *away+most-s.limiter().now()))
}

func (s *slots) Denied(t window.Ticket, err error, again bool) bool {
	l := s.limiter()
	l.lock()
	now := l.now()
	blocked, begun := l.gate.Denied(now, l.moved(t), again)
	if begun {
		wait := l.gate.PausedUntil() - now
		l.note(now, Event{Kind: event.Blocked, Wait: wait, Err: err})
		l.paused(now, wait, verdict.Verdict{}, err)
	}
	l.unlock(now)
	return blocked
}

func (l *Limiter) report(e Event) {
	l.lock()
	now := l.now()
	l.note(now, e)
	l.unlock(now)
}
