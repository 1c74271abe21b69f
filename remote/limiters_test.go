package remote_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/schedule"
	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

func reno(t *testing.T, config aimd.Config) *aimd.Limiter {
	t.Helper()
	config.Law = aimd.Reno(0.5)
	l, err := aimd.New(config)
	require.NoError(t, err)
	return l
}

func limiters(t *testing.T, all ...*aimd.Limiter) *remote.Limiters {
	t.Helper()
	var ls remote.Limiters
	for _, l := range all {
		require.NoError(t, ls.Add(l))
	}
	return &ls
}

func TestLimitersTakeWhatTheDocumentSays(t *testing.T) {
	l := reno(t, aimd.Config{MaxWindow: 100, MaxAttempts: 9, QueueBound: 7})
	own := l.Snapshot().Config
	ls := limiters(t, l)
	require.NoError(t, ls.Apply(fullDocument))
	want := own
	want.MaxRate, want.MaxAmountRate = 50, 3333
	want.MinWindow, want.MaxWindow, want.MaxAttempts, want.PauseMax = 2, 64, 4, 30*time.Second
	require.Equal(t, want, l.Snapshot().Config)

	// If a field is absent, the program's own setting is in force again.
	require.NoError(t, ls.Apply(said(43, func(d *remote.Document) { d.Window.Max = 3 })))
	want = own
	want.MaxWindow = 3
	require.Equal(t, want, l.Snapshot().Config)
	require.EqualValues(t, 3, l.Snapshot().Cwnd)
	require.NoError(t, ls.Apply(said(44, func(d *remote.Document) { d.Retry.MaxPause = time.Millisecond })))
	want = own
	want.PauseMin, want.PauseMax = time.Millisecond, time.Millisecond
	require.Equal(t, want, l.Snapshot().Config)
	require.NoError(t, ls.Apply(remote.Document{Version: 45}))
	require.Equal(t, own, l.Snapshot().Config)
}

// Pauses that the program turned off come back if the document has a longest pause.
func TestLimitersWithoutPauses(t *testing.T) {
	l := reno(t, aimd.Config{PauseMax: -1})
	want := l.Snapshot().Config
	ls := limiters(t, l)
	d := said(1, func(d *remote.Document) { d.Window.Max = 3 })
	require.NoError(t, ls.Apply(d))
	want.MaxWindow = 3
	require.Negative(t, want.PauseMax)
	require.Equal(t, want, l.Snapshot().Config)
	d.Retry.MaxPause = 10 * time.Millisecond
	require.NoError(t, ls.Apply(d))
	require.Equal(t, 10*time.Millisecond, l.Snapshot().Config.PauseMax)
}

func TestLimitersRefuseWhatDoesNotFitOneOfThem(t *testing.T) {
	wide, narrow, high := reno(t, aimd.Config{}), reno(t, aimd.Config{InitialWindow: 5, MaxWindow: 10}), reno(t, aimd.Config{MinWindow: 8})
	ls := limiters(t, wide, narrow, high)
	before := wide.Snapshot().Config
	for want, change := range map[string]func(*remote.Document){
		"aimd: MaxWindow: 10 is not allowed, want a number from 20 to 1048576": func(d *remote.Document) { d.Window.Min = 20 },
		"aimd: MaxWindow: 4 is not allowed, want a number from 8 to 1048576":   func(d *remote.Document) { d.Window.Max = 4 },
	} {
		err := ls.Apply(said(1, change))
		require.EqualError(t, err, want)
		require.ErrorAs(t, err, new(*setting.Error))
		require.Equal(t, before, wide.Snapshot().Config, "those that it fits have not got it either")
	}
	require.NoError(t, ls.Apply(said(1, func(d *remote.Document) { d.Window.Min, d.Window.Max = 20, 30 })))
}

// The limiters of a Keyed are made when they are needed.
func TestLimitersMayComeLater(t *testing.T) {
	var ls remote.Limiters
	early := reno(t, aimd.Config{})
	require.NoError(t, ls.Add(early))
	require.NoError(t, ls.Apply(fullDocument))
	late := reno(t, aimd.Config{})
	require.NoError(t, ls.Add(late))
	require.NoError(t, ls.Add(late), "a second time it is what it is, not its own")
	require.EqualValues(t, 64, late.Snapshot().Config.MaxWindow)
	odd := reno(t, aimd.Config{InitialWindow: 100, MinWindow: 100})
	require.NoError(t, ls.Add(odd), "the document has both bounds")

	require.NoError(t, ls.Apply(said(43, func(d *remote.Document) { d.Window.Max = 200 })))
	odd = reno(t, aimd.Config{InitialWindow: 300, MinWindow: 300})
	require.EqualError(t, ls.Add(odd), "remote: aimd: MaxWindow: 200 is not allowed, want a number from 300 to 1048576")
	require.EqualValues(t, 300, odd.Snapshot().Config.MinWindow, "it keeps what it has")
	require.NoError(t, ls.Apply(remote.Document{Version: 44}))
	for _, l := range []*aimd.Limiter{early, late} {
		require.Equal(t, reno(t, aimd.Config{}).Snapshot().Config, l.Snapshot().Config)
	}
}

// In whatever order documents and limiters come, all limiters have the last document in the end.
func TestLimitersMayComeWhileDocumentsDo(t *testing.T) {
	var ls remote.Limiters
	limiters := make([]*aimd.Limiter, 100)
	var all sync.WaitGroup
	for part := range 4 {
		all.Go(func() {
			for i := part; i < len(limiters); i += 4 {
				limiters[i] = reno(t, aimd.Config{})
				assert.NoError(t, ls.Add(limiters[i]))
			}
		})
	}
	for most := 100; most > 7; most-- {
		require.NoError(t, ls.Apply(said(1, func(d *remote.Document) { d.Window.Max = float64(most) })))
	}
	all.Wait()
	for _, l := range limiters {
		require.EqualValues(t, 8, l.Snapshot().Config.MaxWindow)
	}
}

// A limiter without another reference leaves memory, and refuses no document.
func TestLimitersAreNotKeptAlive(t *testing.T) {
	var ls remote.Limiters
	gone := make(chan struct{})
	l := reno(t, aimd.Config{InitialWindow: 2, MaxWindow: 2})
	require.NoError(t, ls.Add(l))
	runtime.AddCleanup(l, func(c chan struct{}) { close(c) }, gone)
	stays := reno(t, aimd.Config{})
	require.NoError(t, ls.Add(stays))
	d := said(1, func(d *remote.Document) { d.Window.Min = 30 })
	require.Error(t, ls.Apply(d))
	runtime.KeepAlive(l)
	runtime.GC()
	<-gone
	require.NoError(t, ls.Apply(d))
	require.EqualValues(t, 30, stays.Snapshot().Cwnd)
}

// A part of a program has the document's settings, and its own again if a document lacks them.
func TestAppliers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := retry.New(retry.Config{Idempotent: true, MaxAttempts: 2, Backoff: backoff.Exponential{Min: time.Minute, Factor: 1}})
		require.NoError(t, err)
		b, err := retry.NewBudget(retry.BudgetConfig{Share: 0.05, Floor: -1})
		require.NoError(t, err)
		s, err := schedule.New(schedule.Config{Period: time.Hour})
		require.NoError(t, err)
		appliers := []remote.Applier{remote.ToPolicy(p), remote.ToBudget(b), remote.ToSchedule(s)}
		for _, c := range []struct {
			change   func(*remote.Document)
			attempts int
			pause    time.Duration
			share    float64
			period   time.Duration
		}{
			{func(d *remote.Document) { *d = fullDocument }, 4, 30 * time.Second, 20, 5 * time.Minute},
			{func(d *remote.Document) { d.Retry.MaxPause = time.Millisecond }, 2, time.Millisecond, 5, time.Hour},
			{func(d *remote.Document) { d.Retry.MaxAttempts = 1000 }, 1000, time.Minute, 5, time.Hour},
			// The ends of the allowed shares and periods fit.
			{func(d *remote.Document) { d.Retry.BudgetShare = 0.999999 }, 2, time.Minute, 99.9999, time.Hour},
			{func(d *remote.Document) { d.Schedule.Period = time.Second }, 2, time.Minute, 5, time.Second},
			{func(d *remote.Document) { d.Schedule.Period = 168 * time.Hour }, 2, time.Minute, 5, 168 * time.Hour},
			{func(*remote.Document) {}, 2, time.Minute, 5, time.Hour},
		} {
			d := said(1, c.change)
			for _, a := range appliers {
				require.NoError(t, a(d))
			}
			began, n := time.Now(), 0
			_ = retry.Do(t.Context(), p, func(context.Context) error { n++; return io.ErrUnexpectedEOF })
			assert.Equal(t, c.attempts, n)
			mean := time.Since(began) / time.Duration(n-1)
			assert.True(t, c.pause/2 <= mean && mean <= c.pause, "%v, at most %v", mean, c.pause)
			assert.ErrorContains(t, b.Admit(t.Context(), 2), fmt.Sprintf("allowed are %g%%", c.share))
			assert.Equal(t, c.period, s.Snapshot().Period)
		}
		for want, call := range map[string]func(){
			"remote: ToPolicy with a nil policy":     func() { remote.ToPolicy(nil) },
			"remote: ToBudget with a nil budget":     func() { remote.ToBudget(nil) },
			"remote: ToSchedule with a nil schedule": func() { remote.ToSchedule(nil) },
		} {
			require.PanicsWithValue(t, want, call)
		}
		require.EqualError(t, new(remote.Limiters).Add(nil), "remote: limiter: nil is not allowed")
	})
}

func off(features ...string) remote.Document {
	return remote.Document{Version: 1, FeaturesOff: features}
}

// "Maintain a remotely configured client feature blacklist" (Safe Client Behaviour).
func TestFeatures(t *testing.T) {
	var f remote.Features
	ctx := func(feature string) context.Context { return tag.WithFeature(t.Context(), feature) }
	require.NoError(t, f.Admit(ctx("a"), 1), "the zero value holds nothing back")
	require.NoError(t, f.Apply(off("a", "b")))
	err := f.Admit(ctx("a"), 1)
	require.ErrorIs(t, err, remote.ErrFeatureOff)
	require.EqualError(t, err, `aimd: feature is off: "a"`)
	require.Equal(t, verdict.Verdict{Meaning: answer.Final}, verdict.Classify(fmt.Errorf("wrapped: %w", err)))
	require.True(t, verdict.NotSent(err))
	require.Error(t, f.Admit(ctx("b"), 1))
	require.NoError(t, f.Admit(ctx("A"), 1))
	require.NoError(t, f.Admit(ctx("ab"), 1))
	require.NoError(t, f.Admit(t.Context(), 1), "what says nothing is not held back")
	require.NoError(t, f.Apply(off("b")))
	require.NoError(t, f.Admit(ctx("a"), 1))
	f.Ended(ctx("b"), window.Success)
	require.Error(t, f.Admit(ctx("b"), 1))
}
