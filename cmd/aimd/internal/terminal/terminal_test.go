package terminal_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

func TestClean(t *testing.T) {
	for dirty, want := range map[string]string{
		"plain × 1\n\ttext": "plain × 1\n\ttext",
		"\x1b[31mred\a":     `\u001b[31mred\u0007`,
		"a\rb\x7f":          `a\u000db\u007f`,
		"\u009b2J":          `\u009b2J`,
		"\x9b2J":            "\uFFFD2J",
	} {
		assert.Equal(t, want, terminal.Clean(dirty))
	}
}

// What is cleaned is the same JSON.
func TestJSONStaysAsItIs(t *testing.T) {
	var all []rune
	for r := rune(0); r < 0xa0; r++ {
		all = append(all, r)
	}
	var b bytes.Buffer
	require.NoError(t, json.NewEncoder(terminal.New(&b)).Encode(string(all)))
	assert.NotContains(t, b.String()[:b.Len()-1], "\n")
	for _, r := range b.String()[:b.Len()-1] {
		assert.False(t, unicode.IsControl(r), "%q", r)
	}
	var back string
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	assert.Equal(t, string(all), back)
}

func TestWhatIsNoTerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	w := terminal.New(f)
	assert.Zero(t, terminal.Columns(w))
	assert.False(t, terminal.Colour(w))
	assert.Same(t, f, terminal.Raw(w))
	n, err := w.Write([]byte("a\rb"))
	require.NoError(t, err)
	assert.Equal(t, 3, n, "what came in, not what went out")
}

func TestCut(t *testing.T) {
	assert.Equal(t, "abc", terminal.Cut("abc", 3))
	assert.Equal(t, "ä…", terminal.Cut("äbc", 2))
	assert.Equal(t, "abc", terminal.Cut("abc", 0))
}
