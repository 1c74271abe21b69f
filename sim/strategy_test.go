package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/sim"
)

// What a strategy's words mean outside of the simulator.
func TestDelaysAreThoseOfTheWords(t *testing.T) {
	seed0, known := sim.StrategyNamed("seed0")
	require.True(t, known)
	assert.Equal(t, backoff.Compound{Min: 100 * time.Millisecond, Max: 15 * time.Minute, Factor: 2, Jitter: backoff.Normal(0.1)}, seed0.Retry.Delays())
	assert.Nil(t, sim.Retry{}.Delays())
	for _, s := range sim.Strategies() {
		if d := s.Retry.Delays(); d != nil {
			assert.NoError(t, backoff.Check(d), s.Name)
		}
	}
}
