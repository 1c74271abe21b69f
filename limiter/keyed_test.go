package limiter_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
)

func newKeyed(t *testing.T, c clock.Clock) *limiter.Keyed[string] {
	k, err := limiter.NewKeyed(func(string) (*limiter.Limiter, error) { return aimd.NewReno() }, time.Minute, c)
	require.NoError(t, err)
	return k
}

func (h keyedHelper) keys() (got []string) {
	for key := range h.All() {
		got = append(got, key)
	}
	return got
}

type keyedHelper struct{ *limiter.Keyed[string] }

func (h keyedHelper) get(t *testing.T, key string) *limiter.Limiter {
	l, err := h.For(key)
	require.NoError(t, err)
	return l
}

func TestKeyedEvictsWhatIsIdle(t *testing.T) {
	mock := clock.NewMock()
	k := keyedHelper{newKeyed(t, mock)}
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

	require.NoError(t, p.Done(limiter.Success))
	mock.Add(2 * time.Minute)
	k.get(t, "d")
	require.Equal(t, []string{"d"}, k.keys())
}

func TestKeyedErrors(t *testing.T) {
	_, err := limiter.NewKeyed(func(string) (*limiter.Limiter, error) { return nil, nil }, -time.Second, nil)
	require.EqualError(t, err, "limiter: idle time: -1s is not allowed, want a positive duration, or 0 for 10m0s")
	no := errors.New("no")
	k, err := limiter.NewKeyed(func(string) (*limiter.Limiter, error) { return nil, no }, 0, nil)
	require.NoError(t, err)
	_, err = k.For("a")
	require.Equal(t, no, err)
	require.Empty(t, keyedHelper{k}.keys())
}

func TestKeyedFromManyGoroutines(t *testing.T) {
	k := newKeyed(t, nil)
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
