package progress

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// Count shows how many steps of some work are done, in a Line. Work of less than a
// second shows nothing. Close it at the end.
type Count struct {
	*Line
	done atomic.Int64
}

// countFrom is when the first is shown.
const countFrom = time.Second

// NewCount begins to count; what names the steps, as in "7 of 20 runs".
func NewCount(w io.Writer, what string, total int) *Count {
	c := new(Count)
	c.Line = NewLine(w, Every, c.text(what, total))
	return c
}

// Step counts one more. It may be called by several goroutines.
func (c *Count) Step() { c.done.Add(1) }

func (c *Count) text(what string, total int) func() string {
	began := time.Now()
	return func() string {
		if time.Since(began) < countFrom {
			return ""
		}
		return fmt.Sprintf("%d of %d %s", c.done.Load(), total, what)
	}
}
