package remote_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/tag"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// version is a document of that version, with a largest window.
func version(v, most int) string {
	return fmt.Sprintf(`{"format": 1, "version": %d, "window": {"max": %d}}`, v, most)
}

const maxSize = 256 << 10

// said is a document with a change.
func said(version uint64, change func(*remote.Document)) remote.Document {
	d := remote.Document{Version: version}
	change(&d)
	return d
}

type script struct {
	mu      sync.Mutex
	data    string
	err     error
	fetches int
	// fetching, if not nil, is called in each Fetch.
	fetching func(ctx context.Context) error
}

func (s *script) set(data string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data, s.err = data, err
}

func (s *script) Fetch(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	s.fetches++
	data, err, fetching := s.data, s.err, s.fetching
	s.mu.Unlock()
	if fetching != nil {
		if err := fetching(ctx); err != nil {
			return nil, err
		}
	}
	return []byte(data), err
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetches
}

func (*script) String() string { return "script" }

type applied struct {
	mu       sync.Mutex
	refuse   error
	versions []uint64
	last     remote.Document
}

func (a *applied) apply(d remote.Document) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refuse == nil {
		a.versions, a.last = append(a.versions, d.Version), d
	}
	return a.refuse
}

func (a *applied) all() []uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]uint64(nil), a.versions...)
}

// looked is a client that has looked once.
func looked(t *testing.T, source remote.Source, apply ...func(remote.Document) error) *remote.Client {
	t.Helper()
	client := remote.New(source, apply...)
	_ = client.Refresh(t.Context())
	require.EqualValues(t, 1, client.Snapshot().Looks)
	return client
}

// running is a client that looks once in a period until stop is called.
func running(t *testing.T, source remote.Source, period time.Duration, apply ...func(remote.Document) error) (client *remote.Client, stop func()) {
	t.Helper()
	client = remote.New(source, apply...)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx, period) }()
	synctest.Wait()
	return client, func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	}
}

// A new document takes effect while a client has requests in flight and in its queue, and no
// request is dropped.
func TestALiveClientIsReconfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &script{data: `{"format": 1, "version": 1, "window": {"min": 6}}`}
		var features remote.Features
		lim := attempttest.Reno(t, aimd.Config{InitialWindow: 2, Guards: []attempt.Guard{&features}})
		client := looked(t, source, limiters(t, lim).Apply, features.Apply)
		leave := make(chan struct{})
		do := func(feature string) error {
			return lim.Do(tag.WithFeature(t.Context(), feature), func(context.Context) error { <-leave; return nil })
		}
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { assert.NoError(t, do("upload")) })
		}
		synctest.Wait()
		require.Equal(t, 6, lim.Snapshot().InFlight, "as many as the document lets at once")

		source.set(`{"format": 1, "version": 2, "window": {"max": 2}, "features_off": ["thumbnails"]}`, nil)
		require.NoError(t, client.Refresh(t.Context()))
		require.Equal(t, 6, lim.Snapshot().InFlight, "requests in flight stay")
		require.Equal(t, 4, lim.Snapshot().Queued, "requests that wait stay")
		require.ErrorIs(t, do("thumbnails"), remote.ErrFeatureOff)
		close(leave)
		all.Wait()
		s := lim.Snapshot()
		assert.LessOrEqual(t, s.Cwnd, 2.0)
		assert.Zero(t, s.InFlight)
		assert.EqualValues(t, 10, s.Successes, "a feature that is off says nothing about load")
		assert.Equal(t, s.Successes, s.Attempts)
	})
}
