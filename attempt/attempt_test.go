package attempt_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/verdict"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/window"
)

var errOpaque = errors.New("the driver failed")

// A deadline of the caller's is unclear if the attempt had at least half of the time from the request
// to the deadline; the wait for the slot, the delays and the attempts before had the rest.
func TestADeadlineCountsFromHalfOfTheTimeOn(t *testing.T) {
	const whole = time.Second
	for waited, want := range map[time.Duration]window.Outcome{
		0: window.Unclear, whole/2 - 1: window.Unclear, whole / 2: window.Unclear, whole/2 + 1: window.Neutral, whole - 1: window.Neutral,
	} {
		for _, err := range []error{context.DeadlineExceeded, errOpaque, status{HTTP: 504}} {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(1)
				r := &attempt.Runner{Slots: d}
				first, e := r.Begin(t.Context())
				require.NoError(t, e)
				time.AfterFunc(waited, func() { first.End(nil) })
				ctx, cancel := context.WithTimeout(t.Context(), whole)
				defer cancel()
				require.ErrorIs(t, r.Do(ctx, func(ctx context.Context) error { <-ctx.Done(); return err }), err)
				require.Equal(t, want, d.last(t), "%v, %v", waited, err)
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.Error(t, (&attempt.Runner{Slots: d}).Do(ctx, func(ctx context.Context) error {
			if attempt.Number(ctx) == 1 {
				time.Sleep(20 * time.Second)
				return status{HTTP: 503, After: 12 * time.Second}
			}
			<-ctx.Done() // after 28 s of the minute
			return ctx.Err()
		}))
		require.Equal(t, window.Neutral, d.last(t))
	})
	// With nothing left at all nothing is sent, and nothing is learned.
	synctest.Test(t, func(t *testing.T) {
		d, w := newDesk(0), &warden{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := (&attempt.Runner{Slots: d, Guards: []attempt.Guard{w}}).Begin(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, d.settled)
		require.Equal(t, []string{"admitted 0", "none"}, w.log)
	})
}

// A socket or a timer that goes by the same deadline may be a little early.
func TestADeadlineThatPassedCountsBeforeTheContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := late{t.Context(), time.Now().Add(time.Second)}
		guard := &warden{}
		a, err := (&attempt.Runner{Guards: []attempt.Guard{guard}}).Begin(ctx)
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.Equal(t, window.Unclear, a.End(errOpaque).Outcome())
		require.Equal(t, []string{"admitted 0", "timeout"}, guard.log, "a throttle is to hear of it")
	})
}

// late is a context that does not end at its deadline.
type late struct {
	context.Context
	at time.Time
}

func (l late) Deadline() (time.Time, bool) { return l.at, true }

// If the attempt's own time ran out, and the classifier knows no better, that is a timeout, and tried
// again.
func TestTheAttemptsOwnTime(t *testing.T) {
	for _, c := range []struct {
		err      error
		want     window.Outcome
		attempts int
	}{
		{errOpaque, window.Timeout, 2},
		{context.DeadlineExceeded, window.Timeout, 2},
		{context.Canceled, window.Timeout, 2},
		{status{HTTP: 404}, window.ClientError, 1},
		{status{HTTP: 503}, window.Overload, 2},
		{unsent{}, window.Timeout, 2},
		{errors.Join(unsent{}, context.Canceled), window.Neutral, 1},
	} {
		for _, within := range []bool{false, true} { // the operation has a deadline too
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(1)
				d.attempts, d.timeout = 2, time.Second
				ctx := t.Context()
				if within {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Hour)
					defer cancel()
				}
				var story *attempt.Error
				require.ErrorAs(t, (&attempt.Runner{Slots: d}).Do(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					return c.err
				}), &story)
				assert.Equal(t, c.attempts, story.Attempts, c.err)
				assert.Equal(t, c.want, d.last(t), c.err)
			})
		}
	}
	// A classifier's word counts, be it neutral; and time that did not run out is none.
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(1)
		d.timeout = time.Second
		r := &attempt.Runner{Slots: d, Classifier: func(error) verdict.Verdict { return verdict.Verdict{Meaning: answer.Final} }}
		require.Error(t, r.Do(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return errOpaque }))
		require.Equal(t, window.Neutral, d.last(t))
		r.Classifier = nil
		require.Error(t, r.Do(t.Context(), func(context.Context) error { time.Sleep(time.Second - 1); return errOpaque }))
		require.Equal(t, window.Neutral, d.last(t))
	})
}

// The limiter and the guards hear what the service said, though the caller's time is up, and nothing where it
// said nothing.
func TestWhatGuardsAreTold(t *testing.T) {
	for _, c := range []struct {
		over bool // the caller has gone
		err  error
		want window.Outcome
		told string
	}{
		{false, nil, window.Success, "success"},
		{false, status{HTTP: 404}, window.ClientError, "client error"},
		{false, status{HTTP: 500}, window.Unclear, "unclear"},
		{false, errors.New("malformed answer"), window.Neutral, "neutral"},
		{false, status{HTTP: 503}, window.Overload, "overload"},
		{false, context.DeadlineExceeded, window.Timeout, "timeout"},
		{false, context.Canceled, window.Neutral, "none"},
		{false, &net.OpError{Op: "dial", Err: errors.New("unreachable")}, window.Neutral, "none"},
		{false, io.ErrUnexpectedEOF, window.Neutral, "none"},
		{false, errors.Join(io.ErrUnexpectedEOF, status{HTTP: 500}), window.Unclear, "unclear"},
		{false, unsent{}, window.Neutral, "none"},
		{true, status{HTTP: 500}, window.Unclear, "none"},
		{true, status{HTTP: 404}, window.ClientError, "client error"},
		{true, status{HTTP: 503}, window.Overload, "overload"},
		{true, context.Canceled, window.Neutral, "none"},
		{true, context.DeadlineExceeded, window.Neutral, "none"},
		{true, errOpaque, window.Neutral, "none"},
	} {
		var w warden
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		a, err := (&attempt.Runner{Guards: []attempt.Guard{&w}}).Begin(ctx)
		require.NoError(t, err)
		if c.over {
			cancel()
		}
		assert.Equal(t, c.want, a.End(c.err).Outcome(), "%v", c.err)
		assert.Equal(t, []string{"admitted 0", c.told}, w.log, "%v", c.err)
		cancel()
	}
}

// An answer whose end comes later: what breaks off was answered nevertheless. A refusal is a failure at once, since the
// next attempt may come before its end.
func TestAnAnswerThatBegan(t *testing.T) {
	contact, refusal := []string{"contact"}, []string{"failed", "contact"}
	for _, c := range []struct {
		name string
		head error
		end  func(*attempt.Attempt)
		want window.Outcome
		told string
		// early and all are what the limiter hears of contact and failures with the head, and in all.
		early, all []string
	}{
		{"read", nil, func(a *attempt.Attempt) { a.End(nil) }, window.Success, "success", contact, contact},
		{"a 404, read", status{HTTP: 404}, func(a *attempt.Attempt) { a.End(nil) }, window.ClientError, "client error", contact, contact},
		{"broken off", nil, func(a *attempt.Attempt) { a.End(io.ErrUnexpectedEOF) }, window.Neutral, "neutral", contact, append(contact, "failed")},
		{"a refusal, broken off", status{HTTP: 503}, func(a *attempt.Attempt) { a.End(io.ErrUnexpectedEOF) }, window.Overload, "overload", refusal, refusal},
		{"dropped", nil, (*attempt.Attempt).Drop, window.Success, "success", contact, contact},
		{"a refusal, dropped", status{HTTP: 503}, (*attempt.Attempt).Drop, window.Overload, "overload", refusal, refusal},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, w := newDesk(1), &warden{}
			a, err := (&attempt.Runner{Slots: d, Guards: []attempt.Guard{w}}).Begin(t.Context())
			require.NoError(t, err)
			a.Head(c.head)
			require.Empty(t, d.settled)
			require.Equal(t, c.early, d.heard)
			c.end(a)
			require.Equal(t, c.all, d.heard)
			require.Equal(t, c.want, d.last(t))
			require.Equal(t, []string{"admitted 0", c.told}, w.log)
		})
	}
}

func TestAnAttemptEndsOnce(t *testing.T) {
	d, w := newDesk(2), &warden{}
	r := &attempt.Runner{Slots: d, Guards: []attempt.Guard{w}}
	a, err := r.Begin(t.Context())
	require.NoError(t, err)
	require.Equal(t, overload, a.End(status{HTTP: 503}))
	require.Zero(t, a.End(nil))
	a.Drop()
	require.Len(t, d.settled, 1)
	require.Equal(t, []string{"admitted 0", "overload"}, w.log)
	require.False(t, attempt.Holds(a.Context(), d), "what outlives it has no slot")
}

// Who leaves gets no answer, whatever the transport calls that; what an answer says counts.
func TestWhyAnAttemptFailed(t *testing.T) {
	for _, err := range []error{errOpaque, status{HTTP: 503}} {
		d := newDesk(1)
		ctx, cancel := context.WithCancel(t.Context())
		a, e := (&attempt.Runner{Slots: d}).Begin(ctx)
		require.NoError(t, e)
		cancel()
		a.End(err)
		if err == errOpaque {
			err = context.Canceled
		}
		require.Equal(t, err, d.err)
	}
}

// A panic or an exit in anything that a user wrote leaves no slot and no guard behind, and goes on.
func TestAPanicLeavesNothingBehind(t *testing.T) {
	for how, bang := range map[string]func(){"panic": func() { panic("boom") }, "exit": runtime.Goexit} {
		ok := func(context.Context) error { return nil }
		fails := func(context.Context) error { return status{HTTP: 500} }
		for name, c := range map[string]struct {
			change func(*attempt.Runner)
			fn     func(context.Context) error
		}{
			"fn":         {func(*attempt.Runner) {}, func(context.Context) error { bang(); return nil }},
			"classifier": {func(r *attempt.Runner) { r.Classifier = func(error) verdict.Verdict { bang(); return overload } }, fails},
			"policy": {func(r *attempt.Runner) {
				r.Policy = &policy{decide: func(attempt.Failure) attempt.Decision { bang(); return attempt.Decision{} }}
			}, fails},
			"Admit": {func(r *attempt.Runner) { r.Guards = append(r.Guards, brittle{admit: bang}) }, ok},
			"Ended": {func(r *attempt.Runner) { r.Guards = append([]attempt.Guard{brittle{ended: bang}}, r.Guards...) }, ok},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				d, w := newDesk(1), &warden{}
				r := &attempt.Runner{Slots: d, Guards: []attempt.Guard{w}}
				c.change(r)
				went := make(chan any)
				returned := false
				go func() {
					defer func() { went <- recover() }()
					_ = r.Do(t.Context(), c.fn)
					returned = true
				}()
				if v := <-went; how == "panic" {
					require.Equal(t, "boom", v)
				}
				require.False(t, returned)
				require.Len(t, d.free, 1, "the slot is free")
				require.Zero(t, w.open)
			})
		}
	}
}

// brittle is a guard that runs these, if it has them.
type brittle struct{ admit, ended func() }

func (b brittle) Admit(context.Context, int) error {
	if b.admit != nil {
		b.admit()
	}
	return nil
}

func (b brittle) Ended(context.Context, window.Outcome) {
	if b.ended != nil {
		b.ended()
	}
}
