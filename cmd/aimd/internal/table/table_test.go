package table

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func example() Table {
	return Table{
		Columns: []Column{{Head: "strategy", Left: true}, {Head: "time s"}, {Head: "p50 s"}, {Head: "peak"}, {Head: "per op"}},
		Rows: [][]Cell{
			{{Text: "backoff"}, {Text: "48.9", Around: "47.1–51.2"}, {Text: "1"}, {Text: "2000"}, {Text: "8.66"}},
			{{Text: "reno-0.9 of a long name"}, {Text: "25.2"}, {Text: "1"}, {Text: "50", Bad: true}, {Text: "1.04"}},
		},
	}
}

func widest(s string) (most int) {
	for line := range strings.Lines(s) {
		most = max(most, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
	}
	return most
}

func TestANarrowTerminalCutsRowsOff(t *testing.T) {
	assert.Contains(t, example().render(0, false), "8.66")
	narrow := example().render(40, false)
	assert.LessOrEqual(t, widest(narrow), 40)
	assert.Contains(t, narrow, "25.2")
	assert.NotContains(t, narrow, "8.66")
}

func TestColourAndControlCharacters(t *testing.T) {
	x := Table{Columns: []Column{{Head: "a\x1b[2J"}}, Rows: [][]Cell{{{Text: "1\r", Bad: true}}}}
	assert.NotContains(t, x.render(0, false), "\x1b")
	coloured := x.render(0, true)
	assert.Contains(t, coloured, "\x1b[31m1\\u000d\x1b[0m")
	assert.Equal(t, 2, strings.Count(coloured, "\x1b"))
	assert.Equal(t, widest(x.render(0, false)), widest(strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(coloured)))
}

func TestWriteAndParagraphs(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, example().Write(&b))
	assert.Contains(t, b.String(), "47.1–51.2")
	b.Reset()
	require.NoError(t, Paragraphs(&b, strings.Repeat("word ", 30), "", "end"))
	assert.LessOrEqual(t, widest(b.String()), 100)
	assert.True(t, strings.HasSuffix(b.String(), "word\nend\n"), b.String())
}
