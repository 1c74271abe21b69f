package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The whole command on a small scale: every contender comes to an end in every case, and every
// table has its rows.
func TestEverythingRuns(t *testing.T) {
	p := plan{
		rounds: 1, turn: 5 * time.Millisecond, uploads: 1,
		task: task{objects: 40, size: 1 << 10, goroutines: 16, slots: 8, service: 5 * time.Millisecond},
	}
	var out bytes.Buffer
	require.NoError(t, p.run(t.Context(), &out))
	for _, c := range contenders {
		require.GreaterOrEqual(t, strings.Count(out.String(), c.name), len(loads)+1, c.name)
	}
	require.NotContains(t, out.String(), "strands")
	require.Contains(t, out.String(), "| "+plainBackoff+" |")
}

func TestNothingIsLost(t *testing.T) {
	small := task{objects: 60, size: 1 << 10, goroutines: 16, slots: 4, service: 5 * time.Millisecond}
	all := map[string]bounder{plainBackoff: unbounded}
	for _, c := range contenders {
		all[c.name] = c.fixed(8)
		if c.adaptive != nil {
			all[c.name] = c.adaptive(8)
		}
	}
	for name, b := range all {
		r, err := small.run(t.Context(), b)
		require.NoError(t, err, name)
		require.Zero(t, r.lost, name)
		require.GreaterOrEqual(t, r.attempts, 1.0, name)
	}
}

func TestJain(t *testing.T) {
	require.InDelta(t, 1, jain([]int64{3, 3, 3}), 1e-9)
	require.InDelta(t, 1.0/3, jain([]int64{3, 0, 0}), 1e-9)
	require.Zero(t, jain([]int64{0, 0}))
}
