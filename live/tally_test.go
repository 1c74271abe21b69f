package live_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/window"
)

// ends are errors of attempts with these outcomes.
var ends = map[window.Outcome]error{
	window.Timeout: context.DeadlineExceeded, window.Neutral: context.Canceled, window.Overload: aimd.Refused(context.Canceled), window.ClientError: &httplimit.StatusError{StatusCode: 404},
}

func answer(t *testing.T, l *aimd.Limiter, outcomes ...window.Outcome) {
	t.Helper()
	for _, o := range outcomes {
		p, err := l.Acquire(context.Background())
		require.NoError(t, err)
		p.End(ends[o])
	}
}

// set is what a test says that there is.
type set []*aimd.Limiter

func (s *set) all() iter.Seq2[string, *aimd.Limiter] {
	return func(yield func(string, *aimd.Limiter) bool) {
		for _, l := range *s {
			if !yield("", l) {
				return
			}
		}
	}
}

func TestLimitersOfOneNameAreOne(t *testing.T) {
	a, b, c := attempttest.Reno(t, aimd.Config{Name: "a"}), attempttest.Reno(t, aimd.Config{Name: "a", InitialWindow: 5}), attempttest.Reno(t, aimd.Config{})
	there := &set{a, b, c, a, nil}
	sums := live.NewTally(there.all, there.all)
	answer(t, a, window.Success, window.ClientError, window.Neutral)
	answer(t, b, window.Timeout)
	_, err := b.Acquire(context.Background())
	require.NoError(t, err)

	all := sums.Read()
	require.Len(t, all, 2)
	require.Empty(t, all[0].Name)
	require.Equal(t, 1, all[0].Present)
	s := all[1]
	require.Equal(t, "a", s.Name)
	require.Equal(t, 2, s.Present)
	require.Equal(t, 1, s.InFlight)
	require.InDelta(t, a.Snapshot().Cwnd+b.Snapshot().Cwnd, s.Cwnd, 0)
	require.EqualValues(t, 1, s.Cuts)
	require.Equal(t, map[window.Outcome]uint64{
		window.Success: 1, window.Overload: 0, window.Timeout: 1, window.Neutral: 1, window.ClientError: 1,
	}, maps.Collect(s.Answers()))
	require.Equal(t, "client_error", live.Label(window.ClientError))
}

func TestWhatALimiterCountedStaysAfterItIsGone(t *testing.T) {
	there := &set{attempttest.Reno(t, aimd.Config{Name: "a"})}
	sums := live.NewTally(there.all)
	read := func() live.Sum {
		all := sums.Read()
		require.Len(t, all, 1)
		return all[0]
	}
	first := (*there)[0]
	answer(t, first, window.Success)
	require.EqualValues(t, 1, read().Attempts)

	answer(t, first, window.Success) // and no Read before it goes
	*there = nil
	s := read()
	require.EqualValues(t, 2, s.Attempts)
	require.Zero(t, s.Present)
	require.Zero(t, s.Cwnd)

	answer(t, first, window.Success) // somebody kept it
	require.EqualValues(t, 3, read().Attempts)
	*there = set{first, attempttest.Reno(t, aimd.Config{Name: "a"})} // it comes back, and one more
	answer(t, (*there)[1], window.Overload)
	require.EqualValues(t, 4, read().Attempts)
	require.Equal(t, 2, read().Present)
}

func TestEvictedCountsWhatNoReadSaw(t *testing.T) {
	there := &set{}
	sums := live.NewTally(there.all)
	for range 100 {
		l := attempttest.Reno(t, aimd.Config{Name: "a"})
		answer(t, l, window.Success)
		sums.Evicted(l)
		sums.Evicted(l)
		if runtime.GC(); len(*there) == 0 {
			*there = set{l}
		}
	}
	require.EqualValues(t, 100, sums.Read()[0].Successes)
	*there = nil
	runtime.GC()
	require.EqualValues(t, 100, sums.Read()[0].Successes)
}

func TestNamesHaveABound(t *testing.T) {
	there := &set{}
	for i := range 1500 {
		l := attempttest.Reno(t, aimd.Config{Name: fmt.Sprint(i)})
		answer(t, l, window.Success)
		*there = append(*there, l)
	}
	sums := live.NewTally(there.all)
	all := sums.Read()
	require.Len(t, all, 1001)
	last := all[len(all)-1]
	require.Equal(t, "other", last.Name)
	require.Equal(t, 500, last.Present)
	require.EqualValues(t, 500, last.Successes)
}

func TestANameIsValidText(t *testing.T) {
	there := &set{attempttest.Reno(t, aimd.Config{Name: "a\xff"}), attempttest.Reno(t, aimd.Config{Name: "a\xfe"})}
	all := live.NewTally(there.all).Read()
	require.Len(t, all, 1, "two of one name")
	require.Equal(t, "a\uFFFD", all[0].Name)
}

func TestATallyOfNilPanics(t *testing.T) {
	require.PanicsWithValue(t, "live: limiters are nil, want a function", func() { live.NewTally(nil) })
}
