package simulate

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
)

// Titles and arguments may hold anything.
func TestControlCharactersDoNotReachTheTerminal(t *testing.T) {
	const evil = "title: \"a\\e[31mb\\a\"\nserver: {service: 1ms}\nclients: {operations: 1}\nruns: 1\nstrategies: [{name: \"n\\e[2J\"}]\n"
	for _, got := range []clitest.Outcome{aimdSim(t, evil, "run", "mine.yaml"), aimdSim(t, evil, "run", "mine.yaml", "--json"), aimdSim(t, evil, "run", "no\x1b[2J")} {
		assert.NotContains(t, got.Stdout+got.Stderr, "\x1b")
		assert.NotContains(t, got.Stdout+got.Stderr, "\a")
		assert.Contains(t, got.Stdout+got.Stderr, `\u001b[`)
	}
}

// An expectation that no number meets, and a field that none has, were taken. The second passed as server.slots.
func TestWhatIsNoNumberOrFieldIsRefused(t *testing.T) {
	const file = "server: {}\nclients: {}\nexpect: [{strategy: none, measure: attempts, at_least: "
	for _, number := range []string{"NaN", "-Inf", ".inf"} {
		assert.Contains(t, aimdSim(t, file+number+"}]\n", "run", "mine.yaml").Stderr, "mine.yaml:3: expect[0].at_least: "+number+" is not allowed, want a number\n")
	}
	for field, empty := range map[string]string{"server..slots": "2", ".seed": "1", "strategies[].name": "2", "server.slots.": "3"} {
		assert.Contains(t, aimdSim(t, file+"1}]\n", "run", "mine.yaml", "--set", field+"=1").Stderr, "--set "+field+"=1: "+field+": element "+empty+" of the field is empty")
	}
}
