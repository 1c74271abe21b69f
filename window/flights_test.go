package window

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzFlightsAgainstASet drives the places and a plain map with the same steps.
func FuzzFlightsAgainstASet(f *testing.F) {
	f.Add([]byte{0, 1, 255, 254, 255, 254, 2, 40, 200, 255, 254, 9})
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) > 60 {
			return
		}
		var f flights
		var given []Ticket
		set := map[Ticket]time.Duration{}
		for _, step := range steps {
			if n := int(step >> 1); step%2 == 0 { // up to 127 more are sent
				for range n {
					now := time.Duration(len(given))
					k := f.sent(now, 0)
					require.EqualValues(t, len(given)+1, k.id, "ids rise by one")
					given, set[k] = append(given, k), now
				}
				continue
			}
			for i, k := range given { // all of one remainder land, twice
				if i%(1+int(step>>1)%7) != 0 {
					continue
				}
				want, flies := set[k]
				has := f.has(k)
				at, again := f.landed(k), f.landed(k) != nil
				landed, sent := at != nil, time.Duration(0)
				if landed {
					sent = at.sent
				}
				// Not by require: it would take most of the time.
				if has != flies || landed != flies || sent != want || again {
					t.Fatalf("%v: in the set %v, has %v, landed %v, again %v, sent at %v, want %v", k, flies, has, landed, again, sent, want)
				}
				delete(set, k)
			}
			require.Equal(t, len(set), f.n())
		}
		for _, k := range given {
			_, flies := set[k]
			require.Equal(t, flies, f.has(k), "%v", k)
		}
	})
}

// An attempt that never ends costs the memory of one place, and a ticket that was never given is not in
// flight.
func TestFlightsTakeTheRoomOfTheMostAtATime(t *testing.T) {
	var f flights
	never := f.sent(7, 0)
	for range 1_000_000 {
		a, b := f.sent(0, 0), f.sent(0, 0)
		for _, k := range []Ticket{a, b} {
			if f.landed(k) == nil {
				t.Fatal(k)
			}
		}
	}
	require.Len(t, f.places, 3)
	require.Equal(t, 1, f.n())
	for _, k := range []Ticket{{}, {id: 2_000_002}, {id: never.id, place: 1}, {id: 1, place: 99}, {place: 1}} {
		require.False(t, f.has(k), "%v", k)
	}
	require.EqualValues(t, 7, f.landed(never).sent)
}
