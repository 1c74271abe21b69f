package backoff_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/backoff"
)

// fixed is a Rand that always draws the same.
type fixed struct{ uniform, normal float64 }

func (f fixed) Float64() float64     { return f.uniform }
func (f fixed) NormFloat64() float64 { return f.normal }

// middle draws the medians.
var middle = fixed{uniform: 0.5}

// delays are those of at most n retries in a row of an operation whose attempts
// take no time.
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

// seconds makes durations.
func seconds(all ...float64) []time.Duration {
	var out []time.Duration
	for _, x := range all {
		out = append(out, time.Duration(x*1e9+0.5))
	}
	return out
}

func TestSeed2HasOneLastTry(t *testing.T) {
	assert.Equal(t, seconds(1, 2, 4, 8), delays(backoff.LastTry{}, nil, 100))
}

func TestExponentialDoublesUpToItsCap(t *testing.T) {
	assert.Equal(t, seconds(0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30), delays(backoff.Exponential{}, nil, 11))
}
