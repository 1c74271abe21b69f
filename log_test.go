package aimd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// logged is a logger and the lines that it wrote.
func logged(t *testing.T) (*slog.Logger, func() []map[string]any) {
	var out bytes.Buffer
	return slog.New(slog.NewJSONHandler(&out, nil)), func() (lines []map[string]any) {
		for dec := json.NewDecoder(&out); dec.More(); {
			var line map[string]any
			require.NoError(t, dec.Decode(&line))
			delete(line, "time")
			lines = append(lines, line)
		}
		return lines
	}
}

// "Changes of the window or of its gap are at the level Info; the kinds event.Paused, event.Full, event.Late,
// event.Away, event.Blocked, event.TooLate, event.Aside, event.Open and event.Unknown at Warn"
func TestTheLevelsOfTheLog(t *testing.T) {
	levels := map[event.Kind]any{
		event.Paused: "WARN", event.Full: "WARN", event.Late: "WARN", event.Away: "WARN", event.Blocked: "WARN",
		event.TooLate: "WARN", event.Aside: "WARN", event.Open: "WARN", event.Unknown: "WARN", event.Cut: "INFO",
		event.Answered: "INFO", event.Reconfigured: "INFO", event.UsedUp: "INFO", event.Closed: "INFO", event.Admitted: nil,
	}
	logger, lines := logged(t)
	for kind, want := range levels {
		e := aimd.Event{
			Name: "photos", Kind: kind, Before: 32, Window: window.State{Cwnd: 30, Ssthresh: 30}, Outcome: window.Neutral,
			RetryAfter: time.Second, Err: errBoom, Quota: &aimd.Quota{Name: "core", Limit: 60},
		}
		aimd.Log(logger, 0)(e)
		got := lines()
		if want == nil {
			require.Empty(t, got)
			continue
		}
		require.Equal(t, []map[string]any{{
			"level": want, "msg": e.String(), "limiter": "photos", "kind": string(kind), "before": 32.0, "cwnd": 30.0, "ssthresh": 30.0,
			"in_flight": 0.0, "queued": 0.0, "outcome": "neutral", "retry_after": 1.0, "err": "boom", "quota": "core (0 of 60 left)",
		}}, got)
	}
	for _, o := range []window.Outcome{window.Success, window.Overload} {
		aimd.Log(logger, 0)(aimd.Event{Kind: event.Answered, Outcome: o, Before: 32, Window: window.State{Cwnd: 32.5}})
		require.Empty(t, lines(), "growth is no news")
	}
}

// "It writes at most perSecond lines a second", of those that the logger wants.
func TestLogLeavesLinesOut(t *testing.T) {
	var out bytes.Buffer
	observe := aimd.Log(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})), 1)
	at := time.Now()
	observe(aimd.Event{Kind: event.Cut, Time: at, Before: 2})
	require.Empty(t, out.String(), "what is not wanted takes no line from what is")
	for range 4 {
		observe(aimd.Event{Kind: event.Paused, Time: at, Wait: time.Second})
	}
	observe(aimd.Event{Kind: event.Full, Time: at.Add(time.Second), Queued: 7})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], "paused 1s: refused again")
	require.NotContains(t, lines[0], "left_out")
	require.Contains(t, lines[1], `"full: turned away, 7 wait already"`)
	require.Contains(t, lines[1], `"left_out":3`)
}

func TestEventsSayWhatHappenedAndWhy(t *testing.T) {
	to := func(cwnd float64) window.State { return window.State{Cwnd: cwnd} }
	for want, e := range map[string]aimd.Event{
		"grew: 20 -> 20.1":                                            {Kind: event.Answered, Outcome: window.Success, Before: 20, Window: to(20.05)},
		"shrank: answers got slower, 32 -> 30.4":                      {Kind: event.Answered, Outcome: window.Success, Before: 32, Window: to(30.4)},
		"ignored: refusal of a burst that was answered already":       {Kind: event.Answered, Outcome: window.Overload},
		"cut: more refusals of the burst, 39 -> 38":                   {Kind: event.Answered, Outcome: window.Overload, Before: 39, Window: to(38)},
		"steady: neutral, the window stays 7":                         {Kind: event.Answered, Outcome: window.Neutral, Before: 7, Window: to(7)},
		"paused 85ms: refused again, and nothing accepted in between": {Kind: event.Paused, Wait: 84_700 * time.Microsecond},
		"paused 1m12s: the service asked for 1m0s":                    {Kind: event.Paused, Wait: 72 * time.Second, RetryAfter: time.Minute},
		"paused 5m0s: the service asked for 12h0m0s, cut to 5m0s by MaxRetryAfter": {
			Kind: event.Paused, Wait: 300_400 * time.Millisecond, RetryAfter: 12 * time.Hour, MaxRetryAfter: 5 * time.Minute,
		},
		"cut: first refusal of a burst, 1 every 100ms -> 1 every 200ms": {
			Kind: event.Cut, Outcome: window.Overload, Before: 0.2, GapBefore: 100 * time.Millisecond, Window: window.State{Cwnd: 0.1}, Gap: 200 * time.Millisecond,
		},
		"cut: first refusal of a burst, the window stays 1 every 15s": {
			Kind: event.Cut, Outcome: window.Overload, Before: 0.01, GapBefore: 15 * time.Second, Window: to(0.01), Gap: 15 * time.Second,
		},
		"cut: first refusal of a burst, 32 -> 29":                          {Kind: event.Cut, Outcome: window.Overload, Before: 32, Window: to(29), Cause: "load"},
		"cut: outage, all is refused, 8 -> 4":                              {Kind: event.Cut, Outcome: window.Overload, Before: 8, Window: to(4), Cause: "outage"},
		"kept: chance, too few refusals to mean load, the window stays 20": {Kind: event.Cut, Outcome: window.Overload, Before: 20, Window: to(20), Cause: "chance"},
		"shrank: used up, a limit was used up and is refilled, 16 -> 2":    {Kind: event.Answered, Outcome: window.Success, Before: 16, Window: to(2), Cause: "used up"},
		"grew: back, the service is back after a silence, 0.1 -> 10":       {Kind: event.Answered, Outcome: window.Success, Before: 0.1, Window: to(10), Cause: "back"},
		"grew: 0.25 -> 1.1":                                 {Kind: event.Answered, Outcome: window.Success, Before: 0.25, Window: to(1.1)},
		"admitted: waited 1.2s":                             {Kind: event.Admitted, Wait: 1234 * time.Millisecond},
		"late: a permit was released a second time":         {Kind: event.Late},
		"reconfigured: new settings, the window stays 64":   {Kind: event.Reconfigured, Before: 64, Window: to(64)},
		"closed: takes no more work":                        {Kind: event.Closed},
		"cut: first refusal of a burst, the window stays 1": {Kind: event.Cut, Outcome: window.Overload, Before: 1, Window: to(1)},
		"away: the service is not there: no route":          {Kind: event.Away, Err: errors.New("no route")},
		"blocked: answers of 403 in a row after successes, taken for a block by a firewall: busy": {Kind: event.Blocked, Err: errors.New("busy")},
		"used up: the service has 0 of 60 requests left, the next go in 34s": {Kind: event.UsedUp, Wait: 34 * time.Second,
			Quota: &aimd.Quota{Name: "requests", Limit: 60}},
		"none": {},
	} {
		require.Equal(t, want, e.String())
	}
}

func TestObserverIsToldEverythingWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []aimd.Event
		l := newLimiter(t, 2, func(c *aimd.Config) {
			c.QueueBound = 1
			c.Observer = func(e aimd.Event) { events = append(events, e) }
		})
		kinds := func() (got []event.Kind) {
			for _, e := range events {
				got = append(got, e.Kind)
			}
			events = nil
			return got
		}

		p := acquire(t, l, 2)
		require.Empty(t, kinds(), "who goes at once is no news")
		to := make(chan got, 1)
		queueUp(t.Context(), "waits", l.Acquire, to)
		_, err := l.Acquire(t.Context())
		require.Equal(t, aimd.ErrQueueFull, err)
		require.Equal(t, []event.Kind{event.Full}, kinds())

		time.Sleep(time.Second) // of the bubble's time
		p[0].Done(window.Success)
		grew, admitted := events[0], events[1]
		require.Equal(t, []event.Kind{event.Answered, event.Admitted}, kinds())
		require.Equal(t, aimd.Event{
			Seq: 2, Time: grew.Time, Kind: event.Answered, Window: window.State{Cwnd: 3, Ssthresh: 1024}, Before: 2,
			InFlight: 1, Queued: 1, Outcome: window.Success, RTT: time.Second,
		}, grew)
		require.Equal(t, time.Second, admitted.Wait)
		require.Equal(t, 2, admitted.InFlight)

		p[0] = (<-to).permit
		p = append(p, acquire(t, l, 1)...)
		p[0].Done(window.Overload)
		p[1].Done(window.Overload)
		p[2].Done(window.Neutral)
		p[2].Done(window.Neutral) // a second time
		require.Equal(t, []event.Kind{event.Cut, event.Answered, event.Answered, event.Late}, kinds())

		refuseBursts(t, l, 1)
		held := events[1]
		require.Equal(t, []event.Kind{event.Cut, event.Paused}, kinds())
		require.Positive(t, held.Wait)
		l.Close()
		require.Equal(t, []event.Kind{event.Closed}, kinds())
	})
}

// docs/design.md, rule 12: "User code runs after the lock is released".
func TestObserverMayCallBack(t *testing.T) {
	var l *aimd.Limiter
	var seq uint64
	calls := 0
	l = newLimiter(t, 2, func(c *aimd.Config) {
		c.Observer = func(e aimd.Event) {
			calls++
			require.Greater(t, e.Seq, seq)
			seq = e.Seq
			s := l.Snapshot()
			require.Equal(t, e.Window.Cwnd, s.Cwnd)
			require.Equal(t, e.InFlight, s.InFlight)
			if e.Outcome != window.Neutral {
				p, ok := l.TryAcquire()
				require.True(t, ok)
				p.Done(window.Neutral)
			}
		}
	})
	p := acquire(t, l, 2)
	p[0].Done(window.Success)
	p[1].Done(window.Overload)
	require.Equal(t, 4, calls)
}

// A late look shows how things came to be as they are, with no observer. The law of New takes one from the window for
// every refusal of a burst: the decisions tell all of the way down, not the first step alone.
func TestDecisionsAreKeptWithoutAnObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{InitialWindow: 40})
		require.Empty(t, l.Snapshot().Decisions)
		start, p := time.Now(), acquire(t, l, 40) // 22 of these may be chance
		time.Sleep(time.Second)
		for _, permit := range p {
			permit.Settle(verdict.Verdict{Meaning: answer.Refused, Wait: time.Second})
		}
		s, at := l.Snapshot(), 40.0
		for i, e := range s.Decisions {
			require.InDelta(t, at, e.Before, 1e-9, "it begins where the last one ended: %v", e)
			require.NotEmpty(t, e.Cause, "it says why")
			require.Equal(t, time.Second, e.Time.Sub(start))
			require.Equal(t, time.Second, e.RetryAfter)
			require.Equal(t, i == 0, e.Kind == event.Cut)
			at = e.Window.Cwnd
		}
		require.InDelta(t, s.Cwnd, at, 1e-9)
		require.InDelta(t, 22, at, 1e-9)

		before := slices.Clone(s.Decisions)
		for range 300 {
			require.NoError(t, l.Reconfigure(func(*aimd.Config) {}))
		}
		l.Close()
		require.Equal(t, before, s.Decisions, "a snapshot stays as it is")
		all := l.Snapshot().Decisions
		require.Len(t, all, 32, "the latest")
		require.Equal(t, event.Closed, all[31].Kind)
		for i := range all[1:] {
			require.Equal(t, all[i].Seq+1, all[i+1].Seq)
		}

		// A refusal that keeps its body is no longer held.
		for _, e := range pausedBy(t, usedUp).Snapshot().Decisions {
			require.NoError(t, e.Err)
		}
	})
}

// Of a pause that is shorter than the Retry-After the service was not the reason.
func TestAPauseSaysWhetherTheServiceAskedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observe, told := kinds(event.Paused)
		l := newLimiter(t, 8, observe, func(c *aimd.Config) { c.MaxRetryAfter = 10 * time.Second })
		for _, after := range []time.Duration{5 * time.Second, 5 * time.Second, 5 * time.Second, 5 * time.Second, 5 * time.Second, time.Minute} {
			p := attempttest.Acquire(t, l)
			p.Settle(verdict.Verdict{Meaning: answer.Refused, Wait: after})
		}
		held := told()
		require.Len(t, held, 5)
		for _, own := range held[:3] {
			require.Zero(t, own.RetryAfter, "from the second cut in a row on: our own pause, of %v", own.Wait)
		}
		require.Equal(t, 5*time.Second, held[3].RetryAfter, "the fifth")
		require.GreaterOrEqual(t, held[3].Wait, 5*time.Second)
		require.Equal(t, time.Minute, held[4].RetryAfter)
		require.Equal(t, 10*time.Second, held[4].MaxRetryAfter, "as far as it is obeyed")
		require.LessOrEqual(t, held[4].Wait, 11*time.Second)
		require.Error(t, held[4].Err)
	})
}

// At a window of 1 the log has what changes: the gap, and not that the window stays.
func TestTheLogIsQuietWhileNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger, lines := logged(t)
		gap := 100 * time.Millisecond
		law := func(window.Settings) window.Law {
			return timedLaw(func(s window.State, _ window.End) window.State {
				s.Cwnd, s.Pace = float64(s.Trip)/float64(gap), window.Spaced
				return s
			})
		}
		l := attempttest.Limiter(t, aimd.Config{Law: law, InitialWindow: 1, Observer: aimd.Log(logger, 100)})
		for i := range 83 {
			if i == 40 {
				gap *= 2
			}
			p := attempttest.Acquire(t, l)
			p.Done(window.Overload)
		}
		got := lines()
		require.Len(t, got, 2)
		require.Equal(t, "cut: first refusal of a burst, 1 -> 1 every 100ms", got[0]["msg"])
		require.Equal(t, "cut: first refusal of a burst, 1 every 100ms -> 1 every 200ms", got[1]["msg"])
		require.EqualValues(t, gap.Seconds(), got[1]["gap"])
		require.Equal(t, gap, l.Snapshot().Gap)
		require.Contains(t, l.Snapshot().String(), "cwnd=5e-06 ")
		require.Contains(t, l.Snapshot().String(), " gap=200ms")
	})
}
