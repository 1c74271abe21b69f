package remote_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/remote"
)

// "Configure periodicity remotely": a new document is in force within two periods, and there is
// one look in a period.
func TestDocumentsArePutInForceOnASchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, a := &script{data: version(1, 8)}, &applied{}
		c := started(t, source, remote.Settings{Period: time.Minute}, a)
		defer c.Close()
		require.Equal(t, []uint64{1}, a.all(), "Start returns after the first look")
		began := time.Now()

		time.Sleep(100 * time.Minute)
		require.Equal(t, []uint64{1}, a.all())
		require.InDelta(t, 101, source.count(), 1, "once in a period")
		source.set(version(2, 9), nil)
		time.Sleep(2 * time.Minute)
		require.Equal(t, []uint64{1, 2}, a.all())

		s := c.Snapshot()
		require.EqualValues(t, 2, s.Version)
		require.EqualValues(t, 9, s.Document.Window.Max)
		require.Equal(t, "script", s.Source)
		require.True(t, s.Applied.After(began.Add(100*time.Minute)))
		require.False(t, s.Confirmed.Before(s.Applied))
		require.EqualValues(t, source.count(), s.Looks)
		require.Zero(t, s.Failures)
	})
}

// Rule 1: "Jitter everything!" Many clients that start together do not look together after that.
func TestLooksAreJittered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 200
		began := time.Now()
		var mu sync.Mutex
		perSecond := map[int]int{}
		for range clients {
			source := &script{data: version(1, 8)}
			source.fetching = func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				if at := time.Since(began); at > 0 {
					perSecond[int(at/time.Second)]++
				}
				return nil
			}
			c := started(t, source, remote.Settings{Period: 100 * time.Second})
			defer c.Close()
		}
		time.Sleep(300 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		looks, most := 0, 0
		for _, n := range perSecond {
			looks, most = looks+n, max(most, n)
		}
		require.Equal(t, 2*clients, looks, "one in each cell of the grid")
		require.Less(t, most, 15, "two a second on average")
	})
}

// If the source is away, the document in force stays.
func TestWhileTheSourceIsAwayTheDocumentStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, a := &script{data: version(3, 8)}, &applied{}
		c := started(t, source, remote.Settings{Period: time.Minute}, a)
		defer c.Close()
		source.set("", errors.New("no route"))
		time.Sleep(30 * time.Minute)
		s := c.Snapshot()
		require.EqualValues(t, 3, s.Version)
		require.Equal(t, "no route", s.LastError)
		require.Greater(t, s.Failures, uint64(25))
		require.Equal(t, s.Failures+1, s.Looks, "one try in a period: no retries")
		require.True(t, s.Looked.After(s.Confirmed))

		source.set(version(4, 8), nil)
		time.Sleep(2 * time.Minute)
		require.Equal(t, []uint64{3, 4}, a.all())
		require.Empty(t, c.Snapshot().LastError)
	})
}

// A bad document is refused with an error that names the field and changes nothing.
func TestABadDocumentChangesNothing(t *testing.T) {
	source, a := &script{data: version(5, 8)}, &applied{}
	c := started(t, source, remote.Settings{}, a)
	for _, bad := range []struct{ document, want string }{
		{`{"format": 1, "version": 6, "features_off": ["a"], "window": {"max": -1}}`, "remote: script: window.max: -1 is not allowed, want a number from 1 to 1048576"},
		{version(4, 7), "remote: script: version: 4 is not allowed, want 5, which is in force, or more"},
		{version(5, 7), "remote: script: version: 5 with other contents is not allowed, want more than 5, which is in force"},
		{`]`, "remote: script: document: text that is no JSON (invalid character ']' looking for beginning of value, at byte 1) is not allowed, want one JSON object, and nothing after it"},
	} {
		source.set(bad.document, nil)
		err := c.Refresh(t.Context())
		require.EqualError(t, err, bad.want)
		var field *aimd.SettingError
		require.ErrorAs(t, err, &field)
		s := c.Snapshot()
		require.Equal(t, bad.want, s.LastError)
		require.EqualValues(t, 5, s.Version)
		require.EqualValues(t, 8, s.Document.Window.Max)
		require.Equal(t, []uint64{5}, a.all())
	}
	source.set(version(6, 7), nil)
	require.NoError(t, c.Refresh(t.Context()))
	require.Equal(t, []uint64{5, 6}, a.all())
	require.Empty(t, c.Snapshot().LastError)
}

// If one applier refuses a document, no applier gets it.
func TestNoApplierAppliesWhatOneRefuses(t *testing.T) {
	first, second := &applied{}, &applied{refuse: errors.New("not here")}
	source := &script{data: version(1, 8)}
	c := started(t, source, remote.Settings{}, first, second)
	require.Equal(t, "remote: script: not here", c.Snapshot().LastError)
	require.Zero(t, c.Snapshot().Version)
	require.Empty(t, first.all())
	require.Empty(t, second.all())

	second.mu.Lock()
	second.refuse = nil
	second.mu.Unlock()
	require.NoError(t, c.Refresh(t.Context()), "the same document again: it is not in force, so not unchanged")
	require.Equal(t, []uint64{1}, first.all())
	require.Equal(t, []uint64{1}, second.all())
}

// Appliers and observers may change their copies of a document.
func TestDocumentsAreNotShared(t *testing.T) {
	a := &applied{}
	c := started(t, &script{data: `{"format": 1, "version": 1, "features_off": ["a"]}`}, remote.Settings{}, scribbles{}, a)
	require.Equal(t, []string{"a"}, a.last.FeaturesOff)
	a.last.FeaturesOff[0] = "b"
	c.Snapshot().Document.FeaturesOff[0] = "c"
	require.Equal(t, []string{"a"}, c.Snapshot().Document.FeaturesOff)
}

type scribbles struct{}

func (scribbles) Check(d remote.Document) error { d.FeaturesOff[0] = "d"; return nil }
func (scribbles) Apply(d remote.Document)       { d.FeaturesOff[0] = "e" }

func TestTheObserverIsToldOfEveryLook(t *testing.T) {
	var told []remote.Snapshot
	source := &script{data: version(1, 8)}
	c := started(t, source, remote.Settings{Observer: func(s remote.Snapshot) { told = append(told, s) }})
	source.set("", errors.New("away\x1b[2J"+strings.Repeat("y", 5000)))
	require.Error(t, c.Refresh(t.Context()))
	require.Len(t, told, 2)
	assert.EqualValues(t, 1, told[0].Version)
	assert.Empty(t, told[0].LastError)
	assert.EqualValues(t, 1, told[1].Failures)
	assert.Less(t, len(told[1].LastError), 1010)
	assert.Regexp(t, `^version=1 source="script" looks=2 failures=1 error="away\\x1b\[2Jyyy.*\.\.\."$`, told[1].String())
}

func TestSettings(t *testing.T) {
	for want, s := range map[string]remote.Settings{
		"remote: Period: 1ms is not allowed, want a duration from 1s to 24h0m0s":   {Period: time.Millisecond},
		"remote: Period: -1m0s is not allowed, want a duration from 1s to 24h0m0s": {Period: -time.Minute},
		"remote: Timeout: 11m0s is not allowed, want a duration from 1ms to 10m0s": {Timeout: 11 * time.Minute},
		"remote: Timeout: -1s is not allowed, want a duration from 1ms to 10m0s":   {Timeout: -time.Second},
	} {
		_, err := remote.New(&script{}, s)
		assert.EqualError(t, err, want)
	}
	_, err := remote.New(nil, remote.Settings{})
	require.EqualError(t, err, "remote: source: nil is not allowed")
	_, err = remote.New(&script{}, remote.Settings{}, &applied{}, nil)
	require.EqualError(t, err, "remote: applier: nil is not allowed")
}

func TestStartIsBoundedInTime(t *testing.T) {
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	t.Run("by the timeout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			c := started(t, &script{fetching: hang}, remote.Settings{Timeout: 3 * time.Second})
			defer c.Close()
			require.Equal(t, 3*time.Second, time.Since(began))
			require.Equal(t, "context deadline exceeded", c.Snapshot().LastError)
			require.Zero(t, c.Snapshot().Version)
		})
	})
	t.Run("by its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			source := &script{data: version(1, 8), fetching: hang}
			c := newClient(t, source, remote.Settings{Period: time.Minute})
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			require.NoError(t, c.Start(ctx))
			require.Equal(t, time.Second, time.Since(began))

			source.mu.Lock()
			source.fetching = nil
			source.mu.Unlock()
			time.Sleep(2 * time.Minute)
			require.EqualValues(t, 1, c.Snapshot().Version, "the context ended the first look alone")
		})
	})
	t.Run("on a mock clock", func(t *testing.T) {
		mock := clock.NewMock()
		waiting := make(chan struct{})
		source := &script{fetching: func(ctx context.Context) error { close(waiting); return hang(ctx) }}
		c := newClient(t, source, remote.Settings{Clock: mock})
		done := make(chan error)
		go func() { done <- c.Start(t.Context()) }()
		<-waiting
		mock.Add(10 * time.Second)
		require.NoError(t, <-done)
		require.EqualValues(t, 1, c.Snapshot().Failures)
	})
}

func TestStartAndCloseOnce(t *testing.T) {
	c := newClient(t, &script{data: version(1, 8)}, remote.Settings{})
	require.NoError(t, c.Start(t.Context()))
	require.EqualError(t, c.Start(t.Context()), "remote: started already")
	c.Close()
	c.Close()
	require.ErrorIs(t, c.Start(t.Context()), remote.ErrClosed)
	require.ErrorIs(t, c.Refresh(t.Context()), remote.ErrClosed)
	require.EqualValues(t, 1, c.Snapshot().Version, "what is in force stays in force")
	require.EqualValues(t, 1, c.Snapshot().Looks)

	c = newClient(t, &script{}, remote.Settings{})
	c.Close()
	require.ErrorIs(t, c.Start(t.Context()), remote.ErrClosed)
}

// After Close no document is applied, and no call hangs.
func TestCloseEndsALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &applied{}
		ended := false
		source := &script{data: version(1, 8), fetching: func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second) // it takes its time
			ended = true
			return nil // and has a document after all
		}}
		c := newClient(t, source, remote.Settings{Timeout: time.Minute}, a)
		refreshed := make(chan error, 2)
		go func() { refreshed <- c.Start(t.Context()) }()
		synctest.Wait()
		go func() { refreshed <- c.Refresh(t.Context()) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, c.Refresh(ctx), context.Canceled, "a wait for the turn ends with its context")
		began := time.Now()
		c.Close()
		require.True(t, ended, "Close waits for it")
		require.Equal(t, time.Second, time.Since(began), "and for nothing else")
		require.ElementsMatch(t, []error{nil, remote.ErrClosed}, []error{<-refreshed, <-refreshed})
		require.Empty(t, a.all())
	})
}

func TestCloseWaitsForTheObserverOfASchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told, begun, ended := 0, make(chan struct{}), false
		c := started(t, &script{data: version(1, 8)}, remote.Settings{Observer: func(remote.Snapshot) {
			if told++; told == 2 {
				close(begun)
				time.Sleep(time.Second)
				ended = true
			}
		}})
		<-begun
		c.Close()
		require.True(t, ended)
	})
}

func TestAPanicOfAnApplierLeavesNothingBehind(t *testing.T) {
	c := newClient(t, &script{data: version(1, 8)}, remote.Settings{}, panics{})
	require.Panics(t, func() { _ = c.Start(t.Context()) })
	require.Panics(t, func() { _ = c.Refresh(t.Context()) }, "the turn is free")
	c.Close()
}

type panics struct{}

func (panics) Check(remote.Document) error { return nil }
func (panics) Apply(remote.Document)       { panic("of an applier") }

func TestManyMayRefreshAtOnce(t *testing.T) {
	source, a := &script{data: version(1, 8)}, &applied{}
	c := started(t, source, remote.Settings{}, a)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for v := range 20 {
				if v%7 == 0 {
					source.set(version(v+2, 8), nil)
				}
				_ = c.Refresh(t.Context())
				_ = c.Snapshot().String()
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
