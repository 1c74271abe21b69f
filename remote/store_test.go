package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/remote"
)

// If the source is away at the start, the last good document is read from the disk.
func TestTheLastGoodDocumentIsUsedAtStart(t *testing.T) {
	store := filepath.Join(t.TempDir(), "last.json")
	source := &script{data: full}
	c := started(t, source, remote.Settings{Store: store})
	require.Empty(t, c.Snapshot().StoreError, "no store yet is no error")
	source.set(`{"format": 1, "version": 43}{`, nil)
	require.Error(t, c.Refresh(t.Context()))
	c.Close()

	source.set("", errors.New("away"))
	a := &applied{}
	c = started(t, source, remote.Settings{Store: store}, a)
	s := c.Snapshot()
	require.Equal(t, fullDocument, s.Document)
	require.Equal(t, fullDocument, a.last)
	require.Equal(t, store, s.From)
	require.Equal(t, "away", s.LastError)
	require.Empty(t, s.StoreError)
	require.True(t, s.Confirmed.IsZero())

	source.set(version(41, 8), nil)
	require.ErrorContains(t, c.Refresh(t.Context()), "version: 41 is not allowed, want 42, which is in force, or more", "a restart is no way back")
	source.set(version(44, 8), nil)
	require.NoError(t, c.Refresh(t.Context()))
	require.Equal(t, "script", c.Snapshot().From)
	c.Close()
	source.set("", errors.New("away"))
	require.EqualValues(t, 44, started(t, source, remote.Settings{Store: store}).Snapshot().Version)
}

// The store keeps the ETag too, so that a restart costs the server a 304.
func TestTheStoreKeepsTheETag(t *testing.T) {
	store := filepath.Join(t.TempDir(), "last.json")
	statuses := []int{}
	_, source := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"one"`)
		if r.Header.Get("If-None-Match") == `"one"` {
			statuses = append(statuses, 304)
			w.WriteHeader(304)
			return
		}
		statuses = append(statuses, 200)
		reply(w, version(1, 8))
	})
	for range 2 {
		c := started(t, source, remote.Settings{Store: store})
		require.EqualValues(t, 1, c.Snapshot().Version)
		require.Empty(t, c.Snapshot().LastError)
		c.Close()
	}
	require.Equal(t, []int{200, 304}, statuses)
}

func TestAStoreThatIsNoGoodIsNotUsed(t *testing.T) {
	record := func(source, document string) string {
		return `{"source": "` + source + `", "fetched": "2026-01-02T03:04:05Z", "document": ` + document + `}`
	}
	dir := t.TempDir()
	for name, c := range map[string]struct{ contents, want string }{
		"empty":          {"", "unexpected end of JSON input"},
		"cut off":        {record("script", version(1, 8))[:40], "unexpected end of JSON input"},
		"bad document":   {record("script", version(0, 8)), "version: 0 is not allowed"},
		"no document":    {`{"source": "script"}`, "format: 0 is not allowed"},
		"null":           {record("script", "null"), "format: null is not allowed, want the number 1"},
		"another source": {record("https://other.example/", version(1, 8)), `a document of "https://other.example/" is not allowed, want one of "script"`},
		"huge":           {strings.Repeat(" ", 2<<20), "more than 1589248 bytes is not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			store := filepath.Join(dir, "last.json")
			require.NoError(t, os.WriteFile(store, []byte(c.contents), 0o600))
			source := &script{err: errors.New("away")}
			client := started(t, source, remote.Settings{Store: store})
			s := client.Snapshot()
			require.Zero(t, s.Version)
			require.True(t, strings.HasPrefix(s.StoreError, "remote: store: "), s.StoreError)
			require.Contains(t, s.StoreError, c.want)

			source.set(full, nil)
			require.NoError(t, client.Refresh(t.Context()))
			require.Empty(t, client.Snapshot().StoreError, "a new one is kept in its place")
			var kept struct{ Document remote.Document }
			data, err := os.ReadFile(store)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(data, &kept))
			require.Equal(t, fullDocument, kept.Document)
		})
	}
}

// The program has changed, and an applier refuses the stored document.
func TestAStoredDocumentThatAnApplierRefuses(t *testing.T) {
	store := filepath.Join(t.TempDir(), "last.json")
	source := &script{data: version(7, 8)}
	started(t, source, remote.Settings{Store: store}).Close()
	source.set(version(6, 8), nil)
	refusing := &refusesVersion{7}
	s := started(t, source, remote.Settings{Store: store}, refusing).Snapshot()
	require.EqualValues(t, 6, s.Version, "what is not in force does not stand in the way")
	require.Empty(t, s.LastError)
}

type refusesVersion struct{ version uint64 }

func (r *refusesVersion) Check(d remote.Document) error {
	if d.Version == r.version {
		return errors.New("not this one")
	}
	return nil
}
func (*refusesVersion) Apply(remote.Document) {}

func TestADocumentThatCannotBeKeptIsInForce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir", "store")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	for name, store := range map[string]string{
		"no directory": filepath.Join(t.TempDir(), "none", "last.json"),
		"a directory":  dir,
	} {
		t.Run(name, func(t *testing.T) {
			c := started(t, &script{data: version(1, 8)}, remote.Settings{Store: store})
			s := c.Snapshot()
			require.EqualValues(t, 1, s.Version)
			require.Empty(t, s.LastError)
			require.True(t, strings.HasPrefix(s.StoreError, "remote: store: "), s.StoreError)
			entries, err := os.ReadDir(filepath.Dir(store))
			require.True(t, err != nil || len(entries) == 1, "nothing is left behind")

			// If the disk takes the document later it is stored, though it is the same.
			require.NoError(t, os.RemoveAll(store))
			require.NoError(t, os.MkdirAll(filepath.Dir(store), 0o700))
			require.NoError(t, c.Refresh(t.Context()))
			require.Empty(t, c.Snapshot().StoreError)
			require.FileExists(t, store)
		})
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clients.json")
	source, err := remote.NewFile(path)
	require.NoError(t, err)
	require.Equal(t, path, source.String())
	write := func(s string) { require.NoError(t, os.WriteFile(path, []byte(s), 0o644)) }

	a := &applied{}
	c := started(t, source, remote.Settings{}, a)
	require.Contains(t, c.Snapshot().LastError, "remote: ", "it need not be there yet")
	require.Contains(t, c.Snapshot().LastError, path)
	write(version(1, 8))
	require.NoError(t, c.Refresh(t.Context()))
	require.NoError(t, c.Refresh(t.Context()))
	write(version(2, 8)[:20])
	require.ErrorContains(t, c.Refresh(t.Context()), "remote: "+path+": document: text that is no JSON", "half written")
	// A file of the same size, written within the file system's tick, is another document.
	write(version(2, 9))
	require.NoError(t, c.Refresh(t.Context()))
	require.Equal(t, []uint64{1, 2}, a.all())

	write(strings.Repeat(" ", maxSize+1))
	require.ErrorContains(t, c.Refresh(t.Context()), "more than 262144 bytes is not allowed")
	require.NoError(t, os.Remove(path))
	require.ErrorIs(t, c.Refresh(t.Context()), os.ErrNotExist)
	require.NoError(t, os.Mkdir(path, 0o700))
	require.ErrorContains(t, c.Refresh(t.Context()), "want a regular file")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = source.Fetch(ctx, "")
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 2, c.Snapshot().Version)

	_, err = remote.NewFile("")
	assert.EqualError(t, err, `remote: file: "" is not allowed, want a path`)
}
