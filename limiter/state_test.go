package limiter_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

func TestStateGoesThroughJSONToTheNextLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 8)
		refuseBursts(t, l, 1)
		data, err := json.Marshal(l.State())
		require.NoError(t, err)
		require.JSONEq(t, `{"cwnd":4,"ssthresh":4,"law":"aimd.reno","at":"2000-01-01T00:00:00Z"}`, string(data))
		var s limiter.State
		require.NoError(t, json.Unmarshal(data, &s))
		restore := func(c *limiter.Config) { c.Restore = s }
		next := newLimiter(t, 20, restore)
		require.Equal(t, l.State().State, next.State().State)
		acquire(t, next, 4)
		_, ok := next.TryAcquire()
		require.False(t, ok)

		time.Sleep(time.Hour) // of the bubble's time
		require.EqualValues(t, 4, newLimiter(t, 20, restore).State().Cwnd)
		time.Sleep(time.Nanosecond)
		require.EqualValues(t, 20, newLimiter(t, 20, restore).State().Cwnd, "too old")
		require.EqualValues(t, 4, newLimiter(t, 20, restore, func(c *limiter.Config) { c.RestoreAge = -1 }).State().Cwnd)
		s.At = time.Time{}
		require.EqualValues(t, 4, newLimiter(t, 20, restore).State().Cwnd, "it does not say when it was")
	})
}

// A threshold and a gap mean something to the law that set them alone.
func TestAStateOfAnotherLawIsItsWindowAlone(t *testing.T) {
	reno := newLimiter(t, 64)
	refuseBursts(t, reno, 1)
	s := reno.State()
	require.Equal(t, "aimd.reno", s.Law)
	s.Cwnd, s.Gap = 48, time.Second
	restored := func(law window.NewLaw) window.State {
		l, err := limiter.New(law, limiter.Config{Restore: s})
		require.NoError(t, err)
		return l.State().State
	}
	require.Equal(t, window.State{Cwnd: 48, Ssthresh: 32, Gap: time.Second}, restored(aimd.Reno))
	require.Equal(t, window.State{Cwnd: 48, Ssthresh: 48}, restored(aimd.Probe))
	s.Law = ""
	require.Equal(t, window.State{Cwnd: 48, Ssthresh: 32, Gap: time.Second}, restored(aimd.Probe), "it does not say which")
}

func TestStateFileKeepsWhatWasLearned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	keep := func(c *limiter.Config) { c.StateFile = path }
	l := newLimiter(t, 8, keep)
	require.EqualValues(t, 8, l.State().Cwnd, "no file is no state")
	refuseBursts(t, l, 1)
	l.Close()
	require.EqualValues(t, 4, newLimiter(t, 8, keep).State().Cwnd)

	p := acquire(t, newLimiter(t, 8, keep), 1)
	require.NoError(t, p[0].Done(window.Neutral))
	l = newLimiter(t, 8, keep)
	p = acquire(t, l, 1)
	l.Close()
	require.NoError(t, p[0].Done(window.Overload))
	require.NoError(t, l.Drain(t.Context()))
	require.EqualValues(t, 2, newLimiter(t, 8, keep).State().Cwnd, "Drain has the last word")
}

// A file that New cannot make sense of is as if it were not there: not one that keeps a program from
// starting.
func TestStateFileThatIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	keep := func(c *limiter.Config) { c.StateFile = path }
	for _, text := range []string{"", "{", `{"cwnd":0.5,"ssthresh":9}`, `{"cwnd":1e99}`, `[1]`, `{"cwnd":4}`} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.EqualValues(t, 8, newLimiter(t, 8, keep).State().Cwnd, text)
	}
}

func TestCloseAndDrainReturnTheErrorOfTheWrite(t *testing.T) {
	dir := t.TempDir()
	l := newLimiter(t, 8, func(c *limiter.Config) { c.StateFile = dir })
	require.ErrorContains(t, l.Close(), "limiter: state: "+dir)
	require.ErrorContains(t, l.Close(), "limiter: state: "+dir)
	require.ErrorContains(t, l.Drain(t.Context()), "limiter: state: "+dir)
	l = newLimiter(t, 8, func(c *limiter.Config) { c.StateFile = filepath.Join(dir, "no", "such") })
	require.ErrorIs(t, l.Drain(t.Context()), fs.ErrNotExist)
}
