package backoff_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
)

// fixed is a Rand that always draws the same.
type fixed struct{ uniform, normal float64 }

func (f fixed) Float64() float64     { return f.uniform }
func (f fixed) NormFloat64() float64 { return f.normal }

// middle draws the medians.
var middle = fixed{uniform: 0.5}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// delays are those of at most n retries in a row of an operation whose attempts take no time.
func delays(b backoff.Backoff, r backoff.Rand, n int) []time.Duration {
	var all []time.Duration
	var s backoff.State
	for range n {
		s.Retry++
		d, ok := b.Delay(s, r)
		if !ok {
			break
		}
		all = append(all, d)
		s.Last, s.Elapsed = d, s.Elapsed+d
	}
	return all
}

// one is the delay before that retry.
func one(t *testing.T, b backoff.Backoff, retry int, r backoff.Rand) time.Duration {
	t.Helper()
	d, ok := b.Delay(backoff.State{Retry: retry}, r)
	require.True(t, ok)
	return d
}

// seconds makes durations.
func seconds(all ...float64) []time.Duration {
	var out []time.Duration
	for _, x := range all {
		out = append(out, time.Duration(x*1e9+0.5))
	}
	return out
}
