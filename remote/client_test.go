package remote_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/setting"
)

// "Configure periodicity remotely": a new document is in force within two periods, and there is
// one look in a period. If the source is away, the document in force stays.
func TestDocumentsArePutInForceOnASchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, a := &script{data: version(1, 8)}, &applied{}
		c, stop := running(t, source, time.Minute, a.apply)
		require.Equal(t, []uint64{1}, a.all(), "it begins with a look")
		require.EqualError(t, c.Run(t.Context(), time.Minute), "remote: Run runs already")
		began := time.Now()

		time.Sleep(100 * time.Minute)
		require.Equal(t, []uint64{1}, a.all())
		require.InDelta(t, 101, source.count(), 1, "once in a period")
		source.set(version(2, 9), nil)
		time.Sleep(2 * time.Minute)
		require.Equal(t, []uint64{1, 2}, a.all())
		s := c.Snapshot()
		require.EqualValues(t, 2, s.Document.Version)
		require.EqualValues(t, 9, s.Document.Window.Max)
		require.Equal(t, "script", s.Source)
		require.True(t, s.Applied.After(began.Add(100*time.Minute)))
		require.False(t, s.Confirmed.Before(s.Applied))
		require.EqualValues(t, source.count(), s.Looks)
		require.Zero(t, s.Failures)

		source.set("", errors.New("no route"))
		time.Sleep(30 * time.Minute)
		away := c.Snapshot()
		require.EqualValues(t, 2, away.Document.Version)
		require.Equal(t, "remote: script: no route", away.LastError)
		require.Greater(t, away.Failures, uint64(25))
		require.InDelta(t, away.Failures, away.Looks-s.Looks, 1, "one try in a period: no retries")
		require.True(t, away.Looked.After(away.Confirmed))
		source.set(version(4, 8), nil)
		time.Sleep(2 * time.Minute)
		require.Equal(t, []uint64{1, 2, 4}, a.all())
		require.Empty(t, c.Snapshot().LastError)

		stop()
		time.Sleep(time.Hour)
		require.EqualValues(t, source.count(), c.Snapshot().Looks, "no looks without a Run")
		require.EqualValues(t, 4, c.Snapshot().Document.Version, "what is in force stays in force")
	})
}

// A bad document is refused with an error that names the field and changes nothing.
func TestABadDocumentChangesNothing(t *testing.T) {
	source, a := &script{data: version(5, 8)}, &applied{}
	c := looked(t, source, a.apply)
	for _, bad := range []struct{ document, want string }{
		{`{"format": 1, "version": 6, "features_off": ["a"], "window": {"max": -1}}`, "remote: script: window.max: -1 is not allowed, want a number from 1 to 1048576"},
		{version(4, 7), "remote: script: version: 4 is not allowed, want 5, which is in force, or more"},
		{version(5, 7), "remote: script: version: 5 with other contents is not allowed, want more than 5, which is in force"},
		{`]`, "remote: script: document: invalid character ']' looking for beginning of value is not allowed, want one JSON object with the fields that package remote lists"},
	} {
		source.set(bad.document, nil)
		err := c.Refresh(t.Context())
		require.EqualError(t, err, bad.want)
		var field *setting.Error
		require.ErrorAs(t, err, &field)
		s := c.Snapshot()
		require.Equal(t, bad.want, s.LastError)
		require.EqualValues(t, 5, s.Document.Version)
		require.EqualValues(t, 8, s.Document.Window.Max)
		require.Equal(t, []uint64{5}, a.all())
	}
	source.set(version(6, 7), nil)
	require.NoError(t, c.Refresh(t.Context()))
	require.Equal(t, []uint64{5, 6}, a.all())
	require.Empty(t, c.Snapshot().LastError)
}

// If one applier refuses a document, the others have it, and each look brings it to all until none refuses.
func TestADocumentThatOneRefuses(t *testing.T) {
	first, second := &applied{refuse: errors.New("not here")}, &applied{}
	source := &script{data: version(3, 8)}
	c := looked(t, source, first.apply, second.apply)
	require.Equal(t, "remote: script: not here", c.Snapshot().LastError)
	require.EqualValues(t, 3, c.Snapshot().Document.Version)
	require.ErrorContains(t, c.Refresh(t.Context()), "not here", "the same document is no news, and its error stays")
	require.EqualValues(t, 2, c.Snapshot().Failures)
	require.Zero(t, c.Snapshot().Confirmed)

	first.refuse = nil
	require.NoError(t, c.Refresh(t.Context()))
	require.Empty(t, c.Snapshot().LastError)
	require.NoError(t, c.Refresh(t.Context()))
	require.Equal(t, []uint64{3}, first.all())
	require.Equal(t, []uint64{3, 3, 3}, second.all())

	second.refuse = errors.New("nor here")
	source.set(version(4, 9), nil)
	require.ErrorContains(t, c.Refresh(t.Context()), "nor here")
	source.set(version(3, 8), nil)
	require.ErrorContains(t, c.Refresh(t.Context()), "version: 3", "the first has the later one")
	require.Equal(t, []uint64{3, 4}, first.all())
}

// Appliers and observers may change their copies of a document.
func TestDocumentsAreNotShared(t *testing.T) {
	a := &applied{}
	scribbles := func(d remote.Document) error { d.FeaturesOff[0] = "d"; return nil }
	c := looked(t, &script{data: `{"format": 1, "version": 1, "features_off": ["a"]}`}, scribbles, a.apply)
	require.Equal(t, []string{"a"}, a.last.FeaturesOff)
	c.Snapshot().Document.FeaturesOff[0] = "c"
	require.Equal(t, []string{"a"}, c.Snapshot().Document.FeaturesOff)
}

func TestAnErrorOfASourceIsCut(t *testing.T) {
	c := looked(t, &script{err: errors.New(strings.Repeat("y", 5000))})
	assert.Len(t, c.Snapshot().LastError, 1000)
}

func TestWrongSettingsAreNamed(t *testing.T) {
	for period, got := range map[time.Duration]string{time.Millisecond: "1ms", -time.Minute: "-1m0s", 25 * time.Hour: "25h0m0s"} {
		err := remote.New(&script{}).Run(t.Context(), period)
		assert.EqualError(t, err, "remote: period: "+got+" is not allowed, want a duration from 1s to 24h0m0s")
	}
	require.Panics(t, func() { remote.New(nil) })
	require.Panics(t, func() { remote.New(&script{}, (&applied{}).apply, nil) })
}

// A look ends with its timeout or its context, and no document is applied after that.
func TestALookIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &applied{}
		source := &script{data: version(1, 8), fetching: func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second) // it takes its time, and has a document after all
			return nil
		}}
		c := remote.New(source, a.apply)
		began := time.Now()
		require.ErrorIs(t, c.Refresh(t.Context()), context.DeadlineExceeded)
		require.Equal(t, 11*time.Second, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		refreshed := make(chan error, 1)
		go func() { refreshed <- c.Refresh(t.Context()) }()
		synctest.Wait()
		require.ErrorIs(t, c.Refresh(ctx), context.DeadlineExceeded, "a wait for the turn ends with its context")
		require.ErrorIs(t, <-refreshed, context.DeadlineExceeded)
		_, stop := running(t, source, 0, a.apply)
		stop()
		require.Empty(t, a.all())
	})
}

func TestAPanicOfAnApplierLeavesNothingBehind(t *testing.T) {
	c := remote.New(&script{data: version(1, 8)}, func(remote.Document) error { panic("of an applier") })
	require.Panics(t, func() { _ = c.Run(t.Context(), 0) })
	require.Panics(t, func() { _ = c.Refresh(t.Context()) }, "the turn is free")
}

func TestManyMayRefreshAtOnce(t *testing.T) {
	source, a := &script{data: version(1, 8)}, &applied{}
	c := looked(t, source, a.apply)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for v := range 20 {
				if v%7 == 0 {
					source.set(version(v+2, 8), nil)
				}
				_ = c.Refresh(t.Context())
				_ = c.Snapshot()
			}
		})
	}
	all.Wait()
	source.set(version(100, 8), nil)
	require.NoError(t, c.Refresh(t.Context()))
	versions := a.all()
	require.IsIncreasing(t, versions)
	require.EqualValues(t, 100, versions[len(versions)-1])
}
