package remote_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd/remote"
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

// script is a source that the test writes.
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

// applied is an applier that remembers its documents.
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
