package remote_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/pipenet"
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
	d := remote.Document{Format: 1, Version: version}
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

func (s *script) Fetch(ctx context.Context, have string) ([]byte, string, error) {
	s.mu.Lock()
	s.fetches++
	data, err, fetching := s.data, s.err, s.fetching
	s.mu.Unlock()
	if fetching != nil {
		if err := fetching(ctx); err != nil {
			return nil, "", err
		}
	}
	return []byte(data), data, err
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

func (a *applied) Check(remote.Document) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refuse
}

func (a *applied) Apply(d remote.Document) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.versions, a.last = append(a.versions, d.Version), d
}

func (a *applied) all() []uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]uint64(nil), a.versions...)
}

func newClient(t *testing.T, source remote.Source, s remote.Settings, appliers ...remote.Applier) *remote.Client {
	t.Helper()
	c, err := remote.New(source, s, appliers...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func started(t *testing.T, source remote.Source, s remote.Settings, appliers ...remote.Applier) *remote.Client {
	t.Helper()
	c := newClient(t, source, s, appliers...)
	require.NoError(t, c.Start(t.Context()))
	return c
}

// A new document takes effect while a client has requests in flight and in its queue, and no
// request is dropped.
func TestALiveClientIsReconfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var document atomic.Pointer[string]
		say := func(s string) { document.Store(&s) }
		say(`{"format": 1, "version": 1, "window": {"min": 6}}`)
		arrived, leave := make(chan string, 100), make(chan struct{})
		l := pipenet.Listen()
		service := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/clients.json" {
				reply(w, *document.Load())
				return
			}
			arrived <- r.URL.Path
			<-leave
			fmt.Fprint(w, r.URL.Path)
		})}}
		service.Start()
		defer service.Close()
		base := &http.Transport{DialContext: l.DialContext, MaxIdleConnsPerHost: 20}
		defer base.CloseIdleConnections()

		lim := reno(t, aimd.Config{InitialWindow: 2})
		var features remote.Features
		source, err := remote.NewHTTP(service.URL+"/clients.json", &http.Client{Transport: base}, nil)
		require.NoError(t, err)
		config := started(t, source, remote.Settings{}, remote.NewLimiters(lim), &features)
		client := &http.Client{Transport: features.Transport(httplimit.New(features.Transport(base), lim))}
		var served, refused atomic.Int64
		get := func(feature, path string) {
			req, err := http.NewRequestWithContext(tag.WithFeature(context.Background(), feature), http.MethodGet, service.URL+path, nil)
			if !assert.NoError(t, err) {
				return
			}
			resp, err := client.Do(req)
			if err != nil {
				assert.ErrorIs(t, err, remote.ErrFeatureOff)
				refused.Add(1)
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			assert.NoError(t, err)
			assert.Equal(t, path, string(body))
			served.Add(1)
		}

		var all sync.WaitGroup
		for i := range 6 { // as many as the document lets at once
			all.Go(func() { get("upload", fmt.Sprint("/sent/", i)) })
		}
		for range 6 {
			require.Contains(t, <-arrived, "/sent/")
		}
		for i := range 4 {
			all.Go(func() { get("upload", fmt.Sprint("/waits/", i)) })
			all.Go(func() { get("thumbnails", fmt.Sprint("/off/", i)) })
		}
		synctest.Wait()
		require.Equal(t, 8, lim.Snapshot().Queued)

		say(`{"format": 1, "version": 2, "window": {"max": 2}, "features_off": ["thumbnails"]}`)
		require.NoError(t, config.Refresh(t.Context()))
		require.Equal(t, 6, lim.Snapshot().InFlight, "requests in flight stay")
		require.Equal(t, 8, lim.Snapshot().Queued, "requests that wait stay")
		close(leave)
		all.Wait()
		assert.EqualValues(t, 10, served.Load(), "nothing was dropped")
		assert.EqualValues(t, 4, refused.Load(), "and requests that waited when their feature was turned off were not sent")
		close(arrived)
		for path := range arrived {
			assert.Contains(t, path, "/waits/")
		}
		s := lim.Snapshot()
		assert.LessOrEqual(t, s.Cwnd, 2.0)
		assert.Zero(t, s.InFlight)
		assert.EqualValues(t, 4, s.Neutrals, "a feature that is off says nothing about load")
	})
}
