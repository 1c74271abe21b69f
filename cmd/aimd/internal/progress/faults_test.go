package progress

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A terminal that is dumb got a sequence to clear the line, ten times a second.
func TestADumbTerminalGetsLines(t *testing.T) {
	t.Setenv("TERM", "dumb")
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := newLine(&b, Every, func() int { return 80 }, func() string { return "line" })
		time.Sleep(Every + time.Millisecond)
		l.Close()
		assert.Equal(t, "line\n", b.String())
	})
}
