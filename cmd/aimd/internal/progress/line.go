// Package progress shows how far some work is: on a terminal in one line that changes,
// elsewhere in a new line every few seconds.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// Line is one line of text that changes in its place on a terminal. If its writer is no
// terminal, the line is written again and again. Close it at the end. The zero value has no
// text: Around keeps several writers apart.
type Line struct {
	w io.Writer
	// columns is the width of the terminal, 0 if the writer is no terminal.
	columns func() int
	text    func() string
	stop    func()

	// mu is held while something is written.
	mu sync.Mutex
	// drawn is the line as it is on the terminal.
	drawn string
}

// NewLine begins to show the lines that text returns, but no line that is "". If w is no
// terminal, a line is written at each interval. One goroutine at a time calls text. A
// terminal cuts a long line off.
func NewLine(w io.Writer, every time.Duration, text func() string) *Line {
	columns := func() int { return terminal.Columns(w) }
	return newLine(terminal.Raw(w), every, columns, text)
}

func newLine(w io.Writer, every time.Duration, columns func() int, text func() string) *Line {
	l := &Line{w: w, columns: columns, text: text}
	if columns() > 0 {
		every = drawEvery
	}
	l.stop = Repeat(every, l.draw)
	return l
}

// Repeat calls f at each interval until stop is called. stop waits for the last call.
func Repeat(every time.Duration, f func()) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				f()
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// Every is the usual interval of a line that is written, drawEvery the interval on a
// terminal.
const (
	Every     = 2 * time.Second
	drawEvery = 100 * time.Millisecond
)

// wipe moves to the beginning of the line and clears it.
const wipe = "\r\x1b[K"

func (l *Line) draw() {
	text := []rune(terminal.Clean(l.text()))
	l.mu.Lock()
	defer l.mu.Unlock()
	columns := l.columns()
	switch {
	case len(text) == 0:
	case columns == 0:
		_, _ = fmt.Fprintln(l.w, string(text))
	default:
		l.drawn = string(text[:min(len(text), columns-1)])
		_, _ = io.WriteString(l.w, wipe+l.drawn)
	}
}

// Around calls write, which writes something else, above the line.
func (l *Line) Around(write func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drawn == "" {
		write()
		return
	}
	_, _ = io.WriteString(l.w, wipe)
	write()
	_, _ = io.WriteString(l.w, l.drawn)
}

// Close ends the line, and removes it from a terminal. Around may be called after Close.
func (l *Line) Close() {
	l.stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drawn != "" {
		_, _ = io.WriteString(l.w, wipe)
		l.drawn = ""
	}
}

// Count shows in a Line how many steps are done, after the first second. Close it at the end.
type Count struct {
	*Line
	done atomic.Int64
}

// countFrom is the time until the first line.
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
		past, done := time.Since(began), c.done.Load()
		switch {
		case past < countFrom:
			return ""
		case done == 0:
			return fmt.Sprintf("0 of %d %s", total, what)
		}
		return fmt.Sprintf("%d of %d %s, some %v left", done, total, what, left(past, done, int64(total)))
	}
}

// left is the time that the rest of some work takes at the pace until now. done must not be 0.
func left(past time.Duration, done, total int64) time.Duration {
	return time.Duration(float64(past) / float64(done) * float64(total-done)).Round(time.Second)
}
