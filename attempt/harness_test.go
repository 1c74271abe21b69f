package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/verdict"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is a Slots with so many of them, that keeps what it was told. A retry is paced by so many seconds
// as there were failures, from the first on.
type desk struct {
	free     chan struct{}
	shut     chan struct{}
	attempts int
	timeout  time.Duration
	giveUp   time.Duration
	pause    time.Duration

	mu      sync.Mutex
	taken   []string
	settled []verdict.Verdict
	err     error    // of the last end
	heard   []string // of Contact and Failed
}

var errShut = errors.New("shut")

func newDesk(slots int) *desk {
	d := &desk{free: make(chan struct{}, slots), shut: make(chan struct{})}
	for range slots {
		d.free <- struct{}{}
	}
	return d
}

func (d *desk) Take(ctx context.Context, retry bool, _ limiter.Run) (window.Ticket, error) {
	select {
	case <-d.shut: // before a slot that is free
		return window.Ticket{}, errShut
	default:
	}
	select {
	case <-d.shut:
		return window.Ticket{}, errShut
	case <-ctx.Done():
		return window.Ticket{}, ctx.Err()
	case <-d.free:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if retry {
		d.taken = append(d.taken, "front")
	} else {
		d.taken = append(d.taken, "back")
	}
	return window.Ticket{}, nil
}

func (d *desk) Settle(_ window.Ticket, v verdict.Verdict, err error, _ *limiter.Run) {
	d.mu.Lock()
	d.settled, d.err = append(d.settled, v), err
	d.mu.Unlock()
	d.free <- struct{}{}
}

func (d *desk) Reached() bool                                             { return true }
func (d *desk) Reported(window.Ticket, verdict.Verdict, []answer.Quota)   {}
func (d *desk) Again(window.Ticket, verdict.Verdict, error, *limiter.Run) {}
func (d *desk) Opened(window.Ticket)                                      {}
func (d *desk) Lived()                                                    {}
func (d *desk) Used(window.Ticket, float64)                               {}
func (d *desk) Denied(window.Ticket, error, bool) bool                    { return false }

func (d *desk) Contact(bool, error) (bool, error) { d.hears("contact"); return true, nil }

func (d *desk) Failed(window.Ticket, *limiter.Run, verdict.Verdict, bool, error) { d.hears("failed") }

func (d *desk) hears(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heard = append(d.heard, what)
}

func (d *desk) InContact(delay time.Duration) time.Duration { return delay }

func (d *desk) Limits() attempt.Limits {
	return attempt.Limits{Attempts: d.attempts, Timeout: d.timeout, MaxWait: d.giveUp, MaxRetryAfter: time.Hour}
}
func (d *desk) Closed() (<-chan struct{}, error) { return d.shut, errShut }

func (d *desk) Waits(failures int, last window.Outcome, v verdict.Verdict, _ *limiter.Run) attempt.Waits {
	w := attempt.Waits{Obeyed: v.Wait, Pause: d.pause}
	if !last.Overloaded() {
		w.Backoffs = failures
	}
	if last == window.Neutral {
		w.Backoff = time.Duration(failures) * time.Second
	}
	return w
}

// ends is the number of attempts that have ended.
func (d *desk) ends() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.settled)
}

// last is the outcome that it was told last.
func (d *desk) last(t *testing.T) window.Outcome {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	require.NotEmpty(t, d.settled)
	return d.settled[len(d.settled)-1].Outcome()
}

// warden is a guard that keeps what it was told, and refuses what it is to refuse.
type warden struct {
	mu     sync.Mutex
	log    []string
	open   int
	refuse func(ctx context.Context, attempt int) error
}

func (w *warden) Admit(ctx context.Context, attempt int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		if err := w.refuse(ctx, attempt); err != nil {
			w.log = append(w.log, fmt.Sprintf("refused %d", attempt))
			return err
		}
	}
	w.open++
	w.log = append(w.log, fmt.Sprintf("admitted %d", attempt))
	return nil
}

func (w *warden) Ended(_ context.Context, o window.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open--
	w.log = append(w.log, o.String())
}

// policy is a Policy that keeps what it was told.
type policy struct {
	mu     sync.Mutex
	told   []attempt.Failure
	decide func(attempt.Failure) attempt.Decision
}

func (p *policy) Decide(_ context.Context, f attempt.Failure) attempt.Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, f)
	return p.decide(f)
}

// failing returns a function that fails so many times, and what counts its calls.
func failing(times int, err error) (func(context.Context) error, *int) {
	calls := 0
	return func(context.Context) error {
		calls++
		if calls <= times {
			return err
		}
		return nil
	}, &calls
}

// status is an error with an HTTP status and a Retry-After.
type status = attempttest.Status

type unsent struct{}

func (unsent) Error() string        { return "not sent" }
func (unsent) Facts() verdict.Facts { return verdict.Facts{Reach: verdict.Unsent} }

var (
	overload = verdict.Verdict{Meaning: answer.Refused}
	again    = verdict.Verdict{Meaning: answer.Passing}
	final    = verdict.Verdict{Meaning: answer.Final}
)

func after(v verdict.Verdict, d time.Duration) verdict.Verdict {
	v.Wait = d
	return v
}
