package remote_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/remote"
)

// A version that is too high would keep out all later documents until a restart.
func TestAVersionThatNoOtherCouldFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, a := &script{data: version(1, 8)}, &applied{}
		c := looked(t, source, a.apply)
		now := time.Now().UnixMicro()
		for v, fits := range map[int64]bool{
			1<<53 - 1: false, now + 25*time.Hour.Microseconds(): false, now + 23*time.Hour.Microseconds(): true,
		} {
			source.set(fmt.Sprintf(`{"format": 1, "version": %d}`, v), nil)
			err := c.Refresh(t.Context())
			assert.Equal(t, fits, err == nil, "%d: %v", v, err)
		}
	})
}

// Hostile documents while a limiter is at work: none is in force, no operation is lost, and nothing is held.
func TestHostileDocuments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{})
		var limiters remote.Limiters
		require.NoError(t, limiters.Add(l))
		source := &script{data: version(1, 8)}
		c, stop := running(t, source, time.Second, limiters.Apply)
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for range 20 {
					assert.NoError(t, l.Do(t.Context(), func(context.Context) error { time.Sleep(time.Second); return nil }))
				}
			})
		}
		const head = `{"format": 1, "version": 2, `
		hostile := []string{
			"", "null", "{", strings.Repeat("[", 100_000), head + `"x": ` + strings.Repeat(`{"x":`, 50_000), strings.Repeat(" ", 1<<20),
			head + `"window": {"max": 1e999}}`, head + `"window": {"max": -1}}`, head + `"window": {"max": 1, "max": 400}}`,
			head + `"Window": {"max": 400}}`, head + `"window": {"max": 4, "min": 400}}`, head + `"features_off": [` + strings.Repeat(`"a",`, 50_000) + `"a"]}`,
			`{"format": 1, "version": 9007199254740991, "window": {"max": 400}}`, `{"format": 1, "version": 1, "window": {"max": 400}}`,
			`{"format": 1, "version": 0}`, "\xef\xbb\xbf" + version(2, 400), version(2, 400) + version(3, 400), "\x00",
		}
		for range 3 {
			for _, document := range hostile {
				source.set(document, nil)
				time.Sleep(2 * time.Second)
			}
		}
		s := c.Snapshot()
		assert.EqualValues(t, 1, s.Document.Version)
		assert.Greater(t, s.Failures, uint64(3*len(hostile)))
		assert.LessOrEqual(t, len(s.LastError), 1100)
		assert.EqualValues(t, 8, l.Snapshot().Config.MaxWindow)
		all.Wait()
		stop()
		after := l.Snapshot()
		assert.EqualValues(t, 2_000, after.Successes)
		assert.Zero(t, after.InFlight)
		assert.Zero(t, after.Queued)
	})
}

// Each Add walked all limiters, twice, under the lock that each request of a proxy with many keys takes.
func TestManyLimitersAreAddedWithLittleWork(t *testing.T) {
	var ls remote.Limiters
	all := make([]*aimd.Limiter, 5000) // none is forgotten meanwhile
	walked, forgets := 0, 0
	for i := range all {
		all[i] = attempttest.Reno(t, aimd.Config{})
		require.NoError(t, ls.Add(all[i]))
		if now := ls.Forgets(); now != forgets { // this one walked those before
			walked, forgets = walked+i, now
		}
	}
	require.Positive(t, walked)
	require.LessOrEqual(t, walked, 2*len(all), "limiters that were looked at")
	runtime.KeepAlive(all)
	all = nil
	for i := range 10_000 {
		if i%1000 == 0 {
			runtime.GC()
		}
		require.NoError(t, ls.Add(attempttest.Reno(t, aimd.Config{})))
	}
	require.LessOrEqual(t, ls.Forgets(), 10_000, "those that are no more are forgotten")
}
