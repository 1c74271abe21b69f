package remote_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

func limiters(t *testing.T, all ...*aimd.Limiter) *remote.Limiters {
	t.Helper()
	var ls remote.Limiters
	for _, l := range all {
		require.NoError(t, ls.Add(l))
	}
	return &ls
}

func TestLimitersTakeWhatTheDocumentSays(t *testing.T) {
	l := attempttest.Reno(t, aimd.Config{MaxWindow: 100, MaxAttempts: 9, QueueBound: 7})
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

// Whether a limiter only watches is the program's alone: a service could turn the limiters of its clients off, and one
// that is new would begin to hold.
func TestNoDocumentTurnsShadowOnOrOff(t *testing.T) {
	for _, shadow := range []bool{false, true} {
		l := attempttest.Reno(t, aimd.Config{Shadow: shadow})
		require.NoError(t, limiters(t, l).Apply(fullDocument))
		require.Equal(t, shadow, l.Snapshot().Config.Shadow)
	}
}

// Pauses that the program turned off come back if the document has a longest pause.
func TestLimitersWithoutPauses(t *testing.T) {
	l := attempttest.Reno(t, aimd.Config{PauseMax: -1})
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

// A limiter that a document does not fit keeps its settings, and the others take the document.
func TestALimiterThatADocumentDoesNotFit(t *testing.T) {
	wide, narrow, high := attempttest.Reno(t, aimd.Config{}), attempttest.Reno(t, aimd.Config{InitialWindow: 5, MaxWindow: 10}), attempttest.Reno(t, aimd.Config{MinWindow: 8})
	ls := limiters(t, wide, narrow, high)
	for _, c := range []struct {
		want   string
		change func(*remote.Document)
		least  []float64
		most   []float64
	}{
		{"aimd: MaxWindow: 10 is not allowed, want a number from 20 to 1048576", func(d *remote.Document) { d.Window.Min = 20 },
			[]float64{20, 1, 20}, []float64{window.MaxWindow, 10, window.MaxWindow}},
		{"aimd: MaxWindow: 4 is not allowed, want a number from 8 to 1048576", func(d *remote.Document) { d.Window.Max = 4 },
			[]float64{1, 1, 20}, []float64{4, 4, window.MaxWindow}},
		{"", func(d *remote.Document) { d.Window.Min, d.Window.Max = 20, 30 }, []float64{20, 20, 20}, []float64{30, 30, 30}},
	} {
		err := ls.Apply(said(1, c.change))
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
			require.ErrorAs(t, err, new(*setting.Error))
		}
		for i, l := range []*aimd.Limiter{wide, narrow, high} {
			assert.Equal(t, c.least[i], l.Snapshot().Config.MinWindow)
			assert.Equal(t, c.most[i], l.Snapshot().Config.MaxWindow)
		}
	}
}

// The limiters of a Keyed are made when they are needed.
func TestLimitersMayComeLater(t *testing.T) {
	var ls remote.Limiters
	early := attempttest.Reno(t, aimd.Config{})
	require.NoError(t, ls.Add(early))
	require.NoError(t, ls.Apply(fullDocument))
	late := attempttest.Reno(t, aimd.Config{})
	require.NoError(t, ls.Add(late))
	require.NoError(t, ls.Add(late), "a second time it is what it is, not its own")
	require.EqualValues(t, 64, late.Snapshot().Config.MaxWindow)
	odd := attempttest.Reno(t, aimd.Config{InitialWindow: 100, MinWindow: 100})
	require.NoError(t, ls.Add(odd), "the document has both bounds")

	require.NoError(t, ls.Apply(said(43, func(d *remote.Document) { d.Window.Max = 200 })))
	odd = attempttest.Reno(t, aimd.Config{InitialWindow: 300, MinWindow: 300})
	require.EqualError(t, ls.Add(odd), "aimd: MaxWindow: 200 is not allowed, want a number from 300 to 1048576")
	require.EqualValues(t, 300, odd.Snapshot().Config.MinWindow, "it keeps what it has")
	require.NoError(t, ls.Apply(remote.Document{Version: 44}))
	for _, l := range []*aimd.Limiter{early, late} {
		require.Equal(t, attempttest.Reno(t, aimd.Config{}).Snapshot().Config, l.Snapshot().Config)
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
				limiters[i] = attempttest.Reno(t, aimd.Config{})
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
	l := attempttest.Reno(t, aimd.Config{InitialWindow: 2, MaxWindow: 2})
	require.NoError(t, ls.Add(l))
	runtime.AddCleanup(l, func(c chan struct{}) { close(c) }, gone)
	stays := attempttest.Reno(t, aimd.Config{})
	require.NoError(t, ls.Add(stays))
	d := said(1, func(d *remote.Document) { d.Window.Min = 30 })
	require.Error(t, ls.Apply(d))
	runtime.KeepAlive(l)
	runtime.GC()
	<-gone
	require.NoError(t, ls.Apply(d))
	require.EqualValues(t, 30, stays.Snapshot().Cwnd)
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
