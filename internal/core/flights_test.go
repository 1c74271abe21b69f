package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzFlightsAgainstASet drives the bits and a plain set with the same steps.
func FuzzFlightsAgainstASet(f *testing.F) {
	f.Add([]byte{0, 1, 255, 255, 255, 255, 2, 40, 200, 255, 255, 9})
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) > 60 {
			return
		}
		var f flights
		set := map[uint64]bool{}
		for _, step := range steps {
			switch n := uint64(step >> 1); {
			case step%2 == 0: // up to 127 * 11 more are sent
				for id := f.last + 1; id <= f.last+n*11; id++ {
					set[id] = true
				}
				for range n * 11 {
					f.sent()
				}
			default: // all of one remainder land, twice
				for id := range f.last + 3 {
					if id%(1+n%7) == 0 {
						// Not by require: it would take most of the time.
						if has, landed, again := f.has(id), f.landed(id), f.landed(id); has != set[id] || landed != set[id] || again {
							t.Fatalf("id %d: in the set %v, has %v, landed %v, again %v", id, set[id], has, landed, again)
						}
						delete(set, id)
					}
				}
			}
			require.Equal(t, len(set), f.n)
			if f.last > 10_000 {
				break
			}
		}
		for id := range f.last + 2 {
			if f.has(id) != set[id] {
				t.Fatalf("id %d: in the set %v, has %v", id, set[id], f.has(id))
			}
			if f.landed(id) {
				delete(set, id)
			}
		}
		require.Empty(t, set)
		require.Zero(t, f.n)
		require.Empty(t, f.old, "what has landed takes no room")
	})
}

// One attempt that never ends costs the memory of a chunk, not of all sent since.
func TestFlightsKeepOldOnesAside(t *testing.T) {
	var f flights
	for range 5 {
		f.sent()
	}
	for id := uint64(1); id < 1_000_000; id++ {
		require.Equal(t, id+5, f.sent())
		if id%100_000 != 0 {
			require.True(t, f.landed(id))
		}
	}
	require.Equal(t, 9+5, f.n)
	require.Len(t, f.old, 9)
	require.True(t, f.has(300_000))
	require.False(t, f.has(300_001))
	require.False(t, f.has(0))
	require.False(t, f.has(1_000_005))
}
