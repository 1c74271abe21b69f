package simulate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
)

// Every built-in scenario, and every figure that names its strategies, has the law. (A law that is there
// stands for one of the user's own, since the registry is the process's.)
func TestWithLaws(t *testing.T) {
	laws := []string{"probe"}
	for _, name := range scenario.Builtins() {
		plain, err := load(name, []string{"strategies=[backoff, reno-0.9]", "plot=[{kind: answers, strategies: [backoff]}, {kind: answers, name: all}]", "expect=[]", "sweep=[]"})
		require.NoError(t, err)
		s := withLaws(plain, laws)
		require.Len(t, s.Strategies, 3)
		assert.Equal(t, "probe", s.Strategies[2].Name)
		assert.Equal(t, []string{"backoff", "probe"}, s.Plot[0].Strategies)
		assert.Empty(t, s.Plot[1].Strategies, "all")
		assert.Equal(t, []string{"backoff"}, plain.Plot[0].Strategies, "the scenario itself stays")
	}
	assert.Empty(t, withLaws(scenario.Scenario{}, laws).Strategies, "all ready strategies, the law among them")
	compared, err := load("backoff-or-window", nil)
	require.NoError(t, err)
	assert.Equal(t, compared.Plot, withLaws(compared, laws).Plot, "maps compare two")
	assert.Empty(t, ownLaws())
}
