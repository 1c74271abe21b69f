package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// A law of the user's own is known to everything that goes by names.
func TestRegister(t *testing.T) {
	const mine = "laws-test"
	before := laws
	t.Cleanup(func() { laws = before })
	Register(mine, aimd.Reno)
	assert.Subset(t, Laws(), []string{ProbeLaw, TahoeLaw, RenoLaw, mine})
	_, known := LawNamed(mine)
	assert.True(t, known)
	strategy, known := StrategyNamed(mine)
	require.True(t, known)
	s := Scenario{Server: Server{Service: time.Second, Slots: 5}, Clients: Clients{Operations: 100}}
	got, err := Run(s, strategy, 1)
	require.NoError(t, err)
	reno, _ := StrategyNamed("reno-0.5")
	want, err := Run(s, reno, 1)
	require.NoError(t, err)
	assert.Equal(t, want.Measures(), got.Measures())

	for _, name := range []string{"", "two words", mine, RenoLaw, "backoff"} {
		assert.Panics(t, func() { Register(name, aimd.Reno) }, name)
	}
	assert.Panics(t, func() { Register("no-law", nil) })
}

func TestTakesFactor(t *testing.T) {
	assert.True(t, TakesFactor(TahoeLaw))
	assert.True(t, TakesFactor(RenoLaw))
	assert.False(t, TakesFactor(ProbeLaw))
	assert.False(t, TakesFactor("no law"))
	s := Scenario{Strategies: []Strategy{{Name: "x", Window: Window{Law: ProbeLaw, Factor: 0.5}}}}
	assert.ErrorContains(t, s.Validate(), "strategies[0].window.factor: 0.5 is not allowed, the law probe has none")
}
