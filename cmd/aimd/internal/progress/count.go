package progress

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// Count shows how many steps of some work are done: as one line that is written anew
// on a terminal, as a plain line every two seconds elsewhere. Work of less than a
// second shows nothing. Close it at the end.
type Count struct {
	w     io.Writer
	what  string
	total int
	done  atomic.Int64
	live  bool
	tick  *ticking
	shown bool
}

// countFrom is when the first is shown.
const countFrom = time.Second

// NewCount begins to count; what names the steps, as in "7 of 20 runs".
func NewCount(w io.Writer, what string, total int) *Count {
	return newCount(terminal.Raw(w), terminal.Clean(what), total, terminal.Columns(w) > 0)
}

func newCount(w io.Writer, what string, total int, live bool) *Count {
	c := &Count{w: w, what: what, total: total, live: live}
	every := lineEvery
	if live {
		every = barEvery
	}
	began := time.Now()
	c.tick = tick(every, func() {
		if time.Since(began) >= countFrom {
			c.show()
		}
	})
	return c
}

// Step counts one more. It may be called by several goroutines.
func (c *Count) Step() { c.done.Add(1) }

// Close ends the display.
func (c *Count) Close() {
	c.tick.end()
	if c.shown && c.live {
		_, _ = io.WriteString(c.w, "\r\x1b[K")
	}
}

func (c *Count) show() {
	c.shown = true
	line := fmt.Sprintf("%d of %d %s", c.done.Load(), c.total, c.what)
	if c.live {
		line = "\r\x1b[K" + line
	} else {
		line += "\n"
	}
	_, _ = io.WriteString(c.w, line)
}
