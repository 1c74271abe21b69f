package sim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// A law of Register is known wherever one is named.
func TestRegister(t *testing.T) {
	before := laws
	t.Cleanup(func() { laws = before })
	Register("mine", aimd.Reno)
	assert.Equal(t, []string{"probe", "tahoe", "reno", "mine"}, Laws())
	assert.NotNil(t, Window{Law: "mine"}.MakeLaw())
	st, ok := StrategyNamed("mine")
	require.True(t, ok)
	s := Scenario{Server: Server{Slots: 4}, Clients: Clients{Operations: 100}, Strategies: []Strategy{st}}
	require.NoError(t, s.Validate())
	r, err := Run(s, st, 1)
	require.NoError(t, err)
	assert.Equal(t, 100, r.Done)
	_, err = Run(s, Strategy{Name: "x", Window: Window{Law: "yours"}}, 1)
	assert.ErrorContains(t, err, `law: "yours" is not allowed, want probe, tahoe, reno or mine`)
}

// It panics if the name is empty, has blanks, or is that of a law or a strategy already,
// or if there is no law.
func TestRegisterWhatIsWrong(t *testing.T) {
	for _, name := range []string{"", "a law", "probe", "reno", "backoff"} {
		assert.Panics(t, func() { Register(name, aimd.Reno) }, name)
	}
	assert.Panics(t, func() { Register("lawless", nil) })
	assert.Nil(t, Window{Law: "lawless"}.MakeLaw())
}
