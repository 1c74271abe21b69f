package tool

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
)

//go:embed testdata/usage.txt
var usage string

// An error of the command line names the word that is wrong and what is allowed.
func TestBadCommandLines(t *testing.T) {
	var got clitest.Outcome
	for line := range strings.Lines(usage) {
		line = strings.TrimSuffix(line, "\n")
		if want, part := strings.CutPrefix(line, "\t"); part {
			assert.Contains(t, got.Stderr, want)
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		got = aimd(t, strings.Fields(line)...)
		assert.Equal(t, cli.WrongUsage, got.Status, line)
		assert.Regexp(t, `\nTry: aimd.* -h\n$`, got.Stderr, line)
		assert.Empty(t, got.Stdout, line)
		assert.Empty(t, clitest.Files(t), line)
	}
}
