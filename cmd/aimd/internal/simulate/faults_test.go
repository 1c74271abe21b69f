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
