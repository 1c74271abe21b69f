package live

import (
	"iter"
	"maps"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/window"
)

// seen returns the state of a series with ten samples, a second apart; at has the sample of
// that many seconds ago.
func seen(t *testing.T, at func(ago int) aimd.Snapshot, decisions ...aimd.Event) string {
	t.Helper()
	now, s := time.Now(), &series{source: source{limiter: new(aimd.Limiter)}}
	for _, e := range decisions {
		e.Time = now.Add(e.Time.Sub(time.Time{}))
		s.decisions, s.closed = append(s.decisions, e), e.Kind == event.Closed
	}
	for ago := 10; ago >= 0; ago-- {
		s.now = sample{now.Add(-time.Duration(ago) * time.Second), at(ago)}
		s.now.Attempts += uint64(100 * (10 - ago)) // a hundred answers a second
		s.now.Config.MaxWindow = 64
		s.past = append(s.past, s.now)
	}
	return s.state(now)
}

// paused is a pause that began that long before now.
func paused(before, wait time.Duration) aimd.Event {
	return aimd.Event{Kind: event.Paused, Time: time.Time{}.Add(-before), Wait: wait}
}

func TestTheStateSaysWhatHoldsTheLimiter(t *testing.T) {
	always := func(s aimd.Snapshot) func(int) aimd.Snapshot {
		return func(int) aimd.Snapshot { return s }
	}
	for name, c := range map[string]struct {
		want      string
		at        func(ago int) aimd.Snapshot
		decisions []aimd.Event
	}{
		"idle":      {want: "idle", at: func(ago int) aimd.Snapshot { return aimd.Snapshot{Attempts: uint64(100 * ago)} }},
		"shadow":    {want: "shadow", at: always(aimd.Snapshot{State: window.State{Cwnd: 2}, InFlight: 9, Config: aimd.Config{Shadow: true}})},
		"closed":    {"closed", always(aimd.Snapshot{State: window.State{Cwnd: 20}, InFlight: 3}), []aimd.Event{{Kind: event.Closed}}},
		"paused":    {"paused", always(aimd.Snapshot{State: window.State{Cwnd: 1}, Queued: 5}), []aimd.Event{paused(time.Second, 3*time.Second)}},
		"at max":    {want: "capped", at: always(aimd.Snapshot{State: window.State{Cwnd: 64}, InFlight: 64, Queued: 10})},
		"with room": {want: "steady", at: always(aimd.Snapshot{State: window.State{Cwnd: 20.5}, InFlight: 3})},
		"just full": {want: "steady", at: always(aimd.Snapshot{State: window.State{Cwnd: 20}, InFlight: 20})},
		"spaced":    {want: "limited", at: always(aimd.Snapshot{State: window.State{Cwnd: 1}, Queued: 7})},
		"a rate": {want: "limited", at: func(ago int) aimd.Snapshot {
			return aimd.Snapshot{State: window.State{Cwnd: 0.6 - float64(ago)*0.05}, Queued: 7}
		}},
		"grows": {want: "growing", at: func(ago int) aimd.Snapshot {
			return aimd.Snapshot{State: window.State{Cwnd: float64(30 - ago)}, InFlight: 30 - ago, Queued: 9}
		}},
		"cut": {want: "limited", at: func(ago int) aimd.Snapshot {
			return aimd.Snapshot{State: window.State{Cwnd: 30.4 - float64(ago)/2}, InFlight: 30, Queued: 9, Cuts: uint64(10 - ago)}
		}},
		"grows after a pause": {"growing", func(ago int) aimd.Snapshot {
			return aimd.Snapshot{State: window.State{Cwnd: float64(max(1, 3-2*ago))}, InFlight: max(1, 3-2*ago), Queued: 57}
		}, []aimd.Event{paused(4*time.Second, 2*time.Second)}},
		"full since a pause": {"limited", func(ago int) aimd.Snapshot {
			s := aimd.Snapshot{State: window.State{Cwnd: 8}, InFlight: 8, Queued: 7}
			if ago >= 2 {
				s.InFlight, s.Queued = 0, 0
			}
			return s
		}, []aimd.Event{paused(10*time.Second, 8500*time.Millisecond)}},
	} {
		require.Equal(t, c.want, seen(t, c.at, c.decisions...), name)
	}
}

// In shadow the page says what would have been held.
func TestThePageSaysWhatShadowWouldHold(t *testing.T) {
	s := &series{source: source{limiter: new(aimd.Limiter)}}
	s.now = sample{time.Now(), aimd.Snapshot{Config: aimd.Config{Shadow: true}}}
	s.now.Shadow.Sent, s.now.Shadow.Held = 40, 12
	s.past = []sample{s.now}
	require.Equal(t, "shadow: would have held 12 of 40 for 0s each; refused: 0 of those, 0 of the others", s.view(time.Now(), 0, true).Words)
	s.now.Config.Shadow = false
	require.Empty(t, s.view(time.Now(), 0, true).Words)
}

// A window of 0 means on the page that there is none.
func TestASmallWindowIsNotShownAsNone(t *testing.T) {
	require.Equal(t, 0.01, sample{Snapshot: aimd.Snapshot{State: window.State{Cwnd: 0.001}}}.row()[1])
	require.Equal(t, 0.26, sample{Snapshot: aimd.Snapshot{State: window.State{Cwnd: 0.256}}}.row()[1])
}

// A client without a limiter is shown without a window, and stays when it has ended.
func TestAClientWithoutALimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New(aimd.Config{Name: "photos"})
		require.NoError(t, err)
		flow := Flow{InFlight: 7, Accepted: 3, Refused: 2}
		clients := func() iter.Seq2[string, Flow] { return maps.All(map[string]Flow{"plain": flow}) }
		w, p := Compare(Of(l), clients).(*handler).watch, page{every: usual, seen: map[int]known{}}
		first := w.news(&p).Limiters
		require.Equal(t, "photos", *first[0].Name)
		require.Equal(t, "plain", *first[1].Name)
		require.Equal(t, []float64{0, 0, 7, 0, 3, 2, 0, 0}, first[1].Samples[0][1:])
		require.Equal(t, "unlimited", first[1].State)

		flow.Refused = 12
		time.Sleep(time.Second)
		next := w.news(&p).Limiters[1]
		require.Nil(t, next.Name, "it is known")
		require.Equal(t, "unlimited", next.State)

		flow = Flow{Accepted: 9, Refused: 12, Ended: true}
		time.Sleep(time.Second)
		over := w.news(&p).Limiters[1]
		require.Equal(t, "closed", over.State)
		require.Equal(t, first[1].ID, over.ID)

		time.Sleep(time.Hour)
		still := w.news(&p).Limiters[1].Samples
		require.Equal(t, over.Samples, still[len(still)-1:], "nothing is looked at any more")
	})
}

// Limiters come and go, and nobody asks for the sums.
func TestTheGoneAreForgottenThoughNobodyReads(t *testing.T) {
	sums := NewTally()
	for i := range 10 * mostNames {
		l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
		require.NoError(t, err)
		sums.Evicted(l)
		if i%100 == 0 {
			runtime.GC()
		}
	}
	require.Less(t, len(sums.members), 3*mostNames)
}
