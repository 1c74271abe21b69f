package aimd_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

func newKeyed(t *testing.T, c aimd.KeyedConfig) keyedHelper {
	k, err := aimd.NewKeyed(func(string) (*aimd.Limiter, error) { return aimd.New(aimd.Config{Law: aimd.Reno(0.5)}) }, c)
	require.NoError(t, err)
	return keyedHelper{k}
}

func (h keyedHelper) keys() (got []string) {
	for key := range h.All() {
		got = append(got, key)
	}
	return got
}

type keyedHelper struct{ *aimd.Keyed[string] }

func (h keyedHelper) get(t *testing.T, key string) *aimd.Limiter {
	l, err := h.For(key)
	require.NoError(t, err)
	return l
}

func TestKeyedEvictsWhatIsIdle(t *testing.T) {
	mock := clock.NewMock()
	k := newKeyed(t, aimd.KeyedConfig{Idle: time.Minute})
	k.SetClock(mock)
	a, busy := k.get(t, "a"), k.get(t, "busy")
	require.Same(t, a, k.get(t, "a"))
	require.NotSame(t, a, busy)
	p, err := busy.Acquire(context.Background())
	require.NoError(t, err)

	mock.Add(40 * time.Second)
	k.get(t, "b")
	require.Equal(t, []string{"b", "a", "busy"}, k.keys())
	mock.Add(30 * time.Second)
	k.get(t, "c")
	require.Equal(t, []string{"c", "busy", "b"}, k.keys(), "a is idle, busy is not")
	require.NotSame(t, a, k.get(t, "a"), "a new one")

	p.Done(window.Success)
	mock.Add(2 * time.Minute)
	k.get(t, "d")
	require.Equal(t, []string{"d"}, k.keys())
}

// More keys than the bound cost no more than the bound: the idlest goes.
func TestKeyedHasABound(t *testing.T) {
	k := newKeyed(t, aimd.KeyedConfig{Keys: 3})
	k.SetClock(clock.NewMock())
	hold := func(key string) aimd.Permit {
		p, err := k.get(t, key).Acquire(t.Context())
		require.NoError(t, err)
		return p
	}
	a := hold("a")
	for _, key := range []string{"b", "c", "d"} {
		k.get(t, key)
	}
	require.Equal(t, []string{"d", "a", "c"}, k.keys(), "b was asked for before c, and a is in use")
	for key := range 1000 {
		k.get(t, string(rune('A'+key)))
		require.Len(t, k.keys(), 3)
	}
	require.Contains(t, k.keys(), "a")

	k.get(t, "c")
	c, d := hold("c"), hold("d")
	_, err := k.For("e")
	require.EqualError(t, err, "aimd: Keys: 3 keys are all in use, want a higher bound or fewer keys")
	k.get(t, "a") // what is there is given all the same
	c.Done(window.Success)
	k.get(t, "e")
	require.ElementsMatch(t, []string{"e", "a", "d"}, k.keys())
	a.Done(window.Success)
	d.Done(window.Success)
}

func TestKeyedTellsOfThoseEvicted(t *testing.T) {
	mock := clock.NewMock()
	var k keyedHelper
	var gone []*aimd.Limiter
	k = newKeyed(t, aimd.KeyedConfig{Idle: time.Minute, Keys: 2, Evicted: func(l *aimd.Limiter) {
		gone = append(gone, l)
		require.NotEmpty(t, k.keys(), "it may call back")
	}})
	k.SetClock(mock)
	a, b := k.get(t, "a"), k.get(t, "b")
	require.Empty(t, gone)
	c := k.get(t, "c")
	require.Equal(t, []*aimd.Limiter{a}, gone, "no room")
	mock.Add(time.Minute)
	k.get(t, "d")
	require.Equal(t, []*aimd.Limiter{a, b, c}, gone, "idle")
}

// A function that returns an error, or neither that nor a limiter, harms its own key alone.
func TestKeyedErrors(t *testing.T) {
	none := func(string) (*aimd.Limiter, error) { return nil, nil }
	for want, c := range map[string]aimd.KeyedConfig{
		"aimd: Idle: -1s is not allowed, want a duration from 1ns": {Idle: -time.Second},
		"aimd: Keys: -1 is not allowed, want a number from 1":      {Keys: -1},
	} {
		_, err := aimd.NewKeyed(none, c)
		require.EqualError(t, err, want)
	}
	_, err := aimd.NewKeyed[string](nil, aimd.KeyedConfig{})
	require.EqualError(t, err, "aimd: make: nil is not allowed")

	answers := []error{errBoom, nil}
	k, err := aimd.NewKeyed(func(string) (*aimd.Limiter, error) {
		if len(answers) > 0 {
			err := answers[0]
			answers = answers[1:]
			return nil, err
		}
		return aimd.New(aimd.Config{})
	}, aimd.KeyedConfig{})
	require.NoError(t, err)
	_, err = k.For("a")
	require.Equal(t, errBoom, err)
	_, err = k.For("a")
	require.EqualError(t, err, "aimd: the limiter of key a: nil is not allowed")
	require.Empty(t, keyedHelper{k}.keys())
	for _, key := range []string{"b", "c", "a"} {
		keyedHelper{k}.get(t, key)
	}
}

func TestKeyedFromManyGoroutines(t *testing.T) {
	k := newKeyed(t, aimd.KeyedConfig{Idle: time.Minute})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 200 {
				l, err := k.For(string(rune('a' + (i+n)%5)))
				if assert.NoError(t, err) {
					assert.NoError(t, l.Do(context.Background(), func(context.Context) error { return nil }))
				}
			}
		})
	}
	wg.Wait()
	total := uint64(0)
	for _, l := range k.All() {
		total += l.Snapshot().Successes
	}
	require.EqualValues(t, 16*200, total)
}

// A key that has no limiter evicts none: requests for classes that do not exist would take the windows of those that do.
func TestAKeyWithoutALimiterEvictsNone(t *testing.T) {
	mine := errors.New("mine")
	k, err := aimd.NewKeyed(func(key string) (*aimd.Limiter, error) {
		if key == "none" {
			return nil, mine
		}
		return aimd.New(aimd.Config{Name: key})
	}, aimd.KeyedConfig{Keys: 2})
	require.NoError(t, err)
	h := keyedHelper{k}
	first := h.get(t, "a")
	h.get(t, "b")
	for range 3 {
		_, err = k.For("none")
		require.ErrorIs(t, err, mine)
	}
	require.Same(t, first, h.get(t, "a"))
}

// Follow is quiet: only a change of the mode or of the leader is an event, and nothing is a decision.
func TestFollowIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observe, told := kinds(event.Share)
		l := newLimiter(t, 20, observe)
		s := aimd.Share{Mode: "shared", Window: 3.5, Processes: 7, Heard: time.Now()}
		for range 40 {
			require.NoError(t, l.Follow(s, window.State{Cwnd: 3, Ssthresh: 3}, limiter.Part{}, nil))
		}
		s.Leads = true
		require.NoError(t, l.Follow(s, window.State{}, limiter.Part{}, nil))
		require.EqualValues(t, 3, l.Snapshot().Cwnd, "the zero State leaves the window")
		s.Mode = "silent"
		require.NoError(t, l.Follow(s, window.State{}, limiter.Part{}, errors.New("away")))
		events := told()
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
