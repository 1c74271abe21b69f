package remote_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/remote"
)

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
