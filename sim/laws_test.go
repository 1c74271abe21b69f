package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/sim"
)

// A law of the user's own is known to everything that goes by names.
func TestRegister(t *testing.T) {
	const mine = "laws-test"
	sim.Register(mine, aimd.Reno)
	assert.Subset(t, sim.Laws(), []string{sim.ProbeLaw, sim.TahoeLaw, sim.RenoLaw, mine})
	_, known := sim.LawNamed(mine)
	assert.True(t, known)
	strategy, known := sim.StrategyNamed(mine)
	require.True(t, known)
	s := sim.Scenario{Server: sim.Server{Service: time.Second, Slots: 5}, Clients: sim.Clients{Operations: 100}}
	got, err := sim.Run(s, strategy, 1)
	require.NoError(t, err)
	reno, _ := sim.StrategyNamed("reno-0.5")
	want, err := sim.Run(s, reno, 1)
	require.NoError(t, err)
	assert.Equal(t, want.Measures(), got.Measures())

	for _, name := range []string{"", "two words", mine, sim.RenoLaw, "backoff"} {
		assert.Panics(t, func() { sim.Register(name, aimd.Reno) }, name)
	}
	assert.Panics(t, func() { sim.Register("no-law", nil) })
}

func TestTakesFactor(t *testing.T) {
	assert.True(t, sim.TakesFactor(sim.TahoeLaw))
	assert.True(t, sim.TakesFactor(sim.RenoLaw))
	assert.False(t, sim.TakesFactor(sim.ProbeLaw))
	assert.False(t, sim.TakesFactor("no law"))
	s := sim.Scenario{Strategies: []sim.Strategy{{Name: "x", Window: sim.Window{Law: sim.ProbeLaw, Factor: 0.5}}}}
	assert.ErrorContains(t, s.Validate(), "strategies[0].window.factor: 0.5 is not allowed, the law probe has none")
}
