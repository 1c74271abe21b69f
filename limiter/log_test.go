package limiter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/limiter"
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

func TestLogWritesCutsAndPausesWithTheirReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger, lines := logged(t)
		l := newLimiter(t, 32, func(c *limiter.Config) {
			c.Name, c.QueueBound, c.Patience = "photos", 1, 2
			c.Observer = limiter.Log(logger, 0)
		})
		require.Equal(t, "photos", l.Snapshot().Name)
		p := acquire(t, l, 2)
		require.NoError(t, p[0].Done(window.Success))
		require.Empty(t, lines(), "growth is no news")
		require.NoError(t, p[1].Done(window.Timeout))
		require.Equal(t, []map[string]any{{
			"level": "INFO", "msg": "cut: first timeout of a burst, 32 -> 16", "limiter": "photos", "kind": "cut",
			"before": 32.0, "cwnd": 16.0, "ssthresh": 16.0, "in_flight": 0.0, "queued": 0.0, "outcome": "timeout",
		}}, lines())
		require.NoError(t, acquire(t, l, 1)[0].Settle(attempt.Verdict{Outcome: window.Overload, RetryAfter: time.Second}))
		got := lines()
		require.Len(t, got, 2)
		require.Regexp(t, "^cut: first refusal of a burst, 16 -> ", got[0]["msg"])
		require.Equal(t, "WARN", got[1]["level"])
		require.Regexp(t, `^paused 1(\.\d)?s: the service asked for 1s$`, got[1]["msg"])
		require.EqualValues(t, time.Second, got[1]["retry_after"])
	})
}

func TestLogWritesThatNoServiceIsThereAndThatAnErrorIsSuspect(t *testing.T) {
	logger, lines := logged(t)
	l := newLimiter(t, 4, func(c *limiter.Config) { c.Observer, c.FirstContact = limiter.Log(logger, 0), time.Nanosecond })
	refused := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	require.ErrorIs(t, l.Do(t.Context(), func(context.Context) error { return refused }), attempt.ErrNoContact)
	suspect := errors.New("too many requests")
	require.ErrorIs(t, l.Do(t.Context(), func(context.Context) error { return suspect }), suspect)
	var got []map[string]any
	for _, line := range lines() {
		if line["kind"] == "away" || line["kind"] == "suspect" {
			got = append(got, map[string]any{"level": line["level"], "msg": line["msg"], "err": line["err"]})
		}
	}
	require.Equal(t, []map[string]any{
		{"level": "WARN", "err": refused.Error(), "msg": "away: the service is not there: " + refused.Error()},
		{"level": "WARN", "err": suspect.Error(), "msg": "suspect: final, though it looks like a refusal: " + suspect.Error()},
	}, got)
}

func TestLogSaysHowManyLinesItLeftOut(t *testing.T) {
	logger, lines := logged(t)
	observe := limiter.Log(logger, 2)
	at := time.Now()
	for range 5 {
		observe(limiter.Event{Kind: limiter.Cut, Time: at, Before: 2})
	}
	require.Len(t, lines(), 2)
	observe(limiter.Event{Kind: limiter.Full, Time: at.Add(time.Second), Queued: 7})
	observe(limiter.Event{Kind: limiter.Late, Time: at.Add(time.Second)})
	got := lines()
	require.Len(t, got, 2)
	require.Equal(t, 3.0, got[0]["left_out"])
	require.Equal(t, "full: turned away, 7 wait already", got[0]["msg"])
	require.NotContains(t, got[1], "left_out")
}

func TestLogLeavesToTheLoggerWhatItWants(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))
	observe := limiter.Log(logger, 1)
	observe(limiter.Event{Kind: limiter.Cut, Time: time.Now()})
	require.Empty(t, out.String())
	observe(limiter.Event{Kind: limiter.Paused, Time: time.Now(), Wait: time.Second})
	require.Contains(t, out.String(), "paused 1s: refused again", "what is not wanted takes no line from what is")
	require.NotContains(t, out.String(), "left_out")
}

func TestSnapshotLogsWhatIsNotZero(t *testing.T) {
	logger, lines := logged(t)
	l := newLimiter(t, 4, func(c *limiter.Config) { c.Name = "photos" })
	require.NoError(t, acquire(t, l, 1)[0].Done(window.Success))
	logger.Info("at the end", "limiter", l.Snapshot())
	require.Equal(t, []map[string]any{{"level": "INFO", "msg": "at the end", "limiter": map[string]any{
		"limiter": "photos", "cwnd": 4.0, "ssthresh": 1024.0, "in_flight": 0.0, "queued": 0.0, "successes": 1.0,
	}}}, lines())
}

func TestEventsSayWhatHappenedAndWhy(t *testing.T) {
	to := func(cwnd float64) window.State { return window.State{Cwnd: cwnd} }
	for want, e := range map[string]limiter.Event{
		"grew: 20 -> 20.1":                                            {Kind: limiter.Grew, Before: 20, Window: to(20.05)},
		"shrank: answers got slower, 32 -> 30.4":                      {Kind: limiter.Shrank, Before: 32, Window: to(30.4)},
		"ignored: refusal of a burst that was answered already":       {Kind: limiter.Ignored, Outcome: window.Overload},
		"cut: more refusals of the burst, 39 -> 38":                   {Kind: limiter.Ignored, Outcome: window.Overload, Before: 39, Window: to(38)},
		"steady: neutral, the window stays 7":                         {Kind: limiter.Steady, Outcome: window.Neutral, Window: to(7)},
		"paused 85ms: refused again, and nothing accepted in between": {Kind: limiter.Paused, Wait: 84_700 * time.Microsecond},
		"paused 1m12s: the service asked for 1m0s":                    {Kind: limiter.Paused, Wait: 72 * time.Second, RetryAfter: time.Minute},
		"paused 5m0s: the service asked for 12h0m0s, cut to 5m0s by WithMaxRetryAfter": {
			Kind: limiter.Paused, Wait: 300_400 * time.Millisecond, RetryAfter: 12 * time.Hour, MaxRetryAfter: 5 * time.Minute,
		},
		"cut: first refusal of a burst, 1 every 100ms -> 1 every 200ms": {
			Kind: limiter.Cut, Outcome: window.Overload, Before: 1, GapBefore: 100 * time.Millisecond, Window: window.State{Cwnd: 1, Gap: 200 * time.Millisecond},
		},
		"admitted: waited 1.2s":                                {Kind: limiter.Admitted, Wait: 1234 * time.Millisecond},
		"late: a permit was released a second time":            {Kind: limiter.Late},
		"reconfigured: new settings, the window stays 64":      {Kind: limiter.Reconfigured, Before: 64, Window: to(64)},
		"closed: takes no more work":                           {Kind: limiter.Closed},
		"cut: first refusal of a burst, the window stays 1":    {Kind: limiter.Cut, Outcome: window.Overload, Before: 1, Window: to(1)},
		"away: the service is not there: no route":             {Kind: limiter.Away, Err: errors.New("no route")},
		"suspect: final, though it looks like a refusal: busy": {Kind: limiter.Suspect, Err: errors.New("busy")},
		"used up: the service has 0 of 60 requests left, the rest in 34s": {Kind: limiter.UsedUp, Wait: 34 * time.Second,
			Quota: &limiter.Quota{Name: "requests", Limit: 60}},
		"none": {},
	} {
		require.Equal(t, want, e.String())
	}
}
