package live

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/window"
)

// A page looked at all limiters for each message, though it shows 50: with 100 000 it took a whole processor, and its
// messages were late. Now those that are not shown are looked at once in 100 µs for each of them.
func TestManyLimitersCostNoMoreThanFew(t *testing.T) {
	for n, want := range map[int]int{1: 200, 50: 200, 51: 200, 1000: 200, 20_000: 10} {
		synctest.Test(t, func(t *testing.T) {
			all := make([]*aimd.Limiter, n)
			for i := range all {
				var err error
				all[i], err = aimd.New(aimd.Config{Name: fmt.Sprintf("key %08d", i*7919%n)})
				require.NoError(t, err)
			}
			listings := 0
			w := &watch{clients: func() iter.Seq2[string, Flow] { return maps.All(map[string]Flow{"a client": {}}) }}
			w.limiters = func() iter.Seq2[string, *aimd.Limiter] { listings++; return Of(all...)() }
			p := page{every: fastest, seen: map[int]known{}}
			for range 200 {
				m := w.news(&p)
				require.Len(t, m.Limiters, min(n+1, shown))
				require.Equal(t, max(0, n+1-shown), m.More)
				time.Sleep(fastest)
			}
			assert.Equal(t, want, listings, n)
			assert.Equal(t, "a client", w.all[0].name)
			assert.Equal(t, fmt.Sprintf("key %08d", min(n, shown-1)-1), w.all[len(w.all)-1].name)

			// One that comes is shown in its time, and is sampled at each message.
			first, err := aimd.New(aimd.Config{Name: "0"})
			require.NoError(t, err)
			all = append(all, first)
			time.Sleep(time.Duration(n) * listing)
			assert.Equal(t, "0", *w.news(&p).Limiters[0].Name)
		})
	}
}

// A window that goes up at once is a decision, too, and no fall; nor is a refusal that leaves the window as it is, which had
// the sign of a cut.
func TestWhatIsNoFallHasNotTheSignOfOne(t *testing.T) {
	for after, want := range map[float64][3]event.Kind{84: {"grew", "grew", "grew"}, 8: {"kept", "kept", "kept"}, 4: {"shrank", "cut", "cut"}} {
		e := aimd.Event{Kind: event.Answered, Outcome: window.Success, Before: 8, Window: window.State{Cwnd: after}}
		answered := tell(e).Kind
		e.Outcome = window.Overload
		deeper := tell(e).Kind
		e.Kind = event.Cut
		assert.Equal(t, want, [3]event.Kind{answered, deeper, tell(e).Kind})
	}
	style, err := files.ReadFile("page/live.css")
	require.NoError(t, err)
	for _, kind := range []event.Kind{event.Cut, event.Paused, event.Reconfigured, event.Closed, "grew", "kept", "shrank"} {
		assert.Contains(t, string(style), fmt.Sprintf("[data-k=%s]::before", kind))
	}
	assert.NotRegexp(t, `\[data-k\]::before[^}]*25BC`, string(style), "not the sign of all others")
}

// Backups, second releases and amounts were not in the sum.
func TestATallySumsEachCounter(t *testing.T) {
	counted := func(times uint64) (s aimd.Snapshot) {
		for _, of := range []any{&s, &s.Shadow} {
			v := reflect.ValueOf(of).Elem()
			for i := range v.NumField() {
				if v.Field(i).CanUint() {
					v.Field(i).SetUint(times * uint64(1+i))
				}
			}
		}
		s.Amount, s.Shadow.Wait = 7.5*float64(times), time.Duration(times)
		return s
	}
	sum := new(Sum)
	for range 2 {
		m := &member{sum: sum}
		m.count(counted(1))
		m.count(counted(1))
	}
	require.Equal(t, counted(2), sum.Snapshot)
}

// The page was told the share of a fleet, and left it: take did not keep it.
func TestThePageKeepsAllThatItIsTold(t *testing.T) {
	script, err := files.ReadFile("page/data.js")
	require.NoError(t, err)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[view]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.Contains(t, string(script), "v."+name, f.Name)
	}
}

// The answers that stay open were added up from read to read, so that the metric only grew.
func TestOpenAnswersAreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5), InitialWindow: 1})
		require.NoError(t, err)
		watch, err := l.Begin(t.Context())
		require.NoError(t, err)
		defer watch.Drop()
		watch.Head(nil)
		trial, err := l.Begin(t.Context()) // after ten seconds
		require.NoError(t, err)
		trial.End(nil)
		tally := NewTally(Of(l))
		for range 3 {
			require.Equal(t, 1, tally.Read()[0].Open)
		}
	})
}
