package aimd_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// Follow is quiet: only a change of the mode or of the leader is an event, and nothing is a decision.
func TestFollowIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []aimd.Event
		l := newLimiter(t, 20, func(c *aimd.Config) {
			c.Observer = func(e aimd.Event) {
				if e.Kind == event.Share {
					events = append(events, e)
				}
			}
		})
		s := aimd.Share{Mode: "shared", Window: 3.5, Processes: 7, Heard: time.Now()}
		for range 40 {
			require.NoError(t, l.Follow(s, window.State{Cwnd: 3, Ssthresh: 3}, limiter.Part{}, nil))
		}
		s.Leads = true
		require.NoError(t, l.Follow(s, window.State{}, limiter.Part{}, nil))
		require.EqualValues(t, 3, l.Snapshot().Cwnd, "the zero State leaves the window")
		s.Mode = "silent"
		require.NoError(t, l.Follow(s, window.State{}, limiter.Part{}, errors.New("away")))
		require.Len(t, events, 3)
		require.Equal(t, "share: shared, of 7 processes", events[0].String())
		require.Equal(t, "share: shared, leads, of 7 processes", events[1].String())
		require.Equal(t, "share: silent, leads, of 7 processes: away", events[2].String())
		require.Equal(t, &s, l.Snapshot().Share)
		require.Empty(t, l.Snapshot().Decisions)
		require.Contains(t, l.Snapshot().String(), `share=3.5 processes=7 mode="silent"`)
		require.ErrorContains(t, l.Follow(s, window.State{Cwnd: -1}, limiter.Part{}, nil), "Cwnd")
	})
}

// Operations that wait go when a wider share comes, without another event.
func TestAWiderShareLetsOperationsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, 20)
		part := limiter.Part{In: time.Hour}
		require.NoError(t, l.Follow(aimd.Share{Mode: "waiting"}, window.State{Cwnd: 1, Ssthresh: 1}, part, nil))
		done := make(chan struct{})
		go func() {
			defer close(done)
			p, err := l.Acquire(t.Context())
			assert.NoError(t, err)
			p.End(nil)
		}()
		synctest.Wait()
		require.Equal(t, 1, l.Snapshot().Queued)
		require.NoError(t, l.Follow(aimd.Share{Mode: "shared"}, window.State{Cwnd: 2, Ssthresh: 2}, limiter.Part{}, nil))
		<-done
	})
}
