// Package progress shows how far some work is: on a terminal in one line that changes,
// elsewhere in a new line every few seconds.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// Line is one line of text that changes in its place on a terminal. If its writer is no terminal, the line is written
// again and again. Close it at the end. The zero value has no text: Around keeps several writers apart.
type Line struct {
	w io.Writer
	// columns is the width of the terminal, 0 if the writer is no terminal or a dumb one.
	columns func() int
	text    func() string
	stop    func()

	// mu is held while something is written.
	mu sync.Mutex
	// drawn is the line as it is on the terminal.
	drawn string
}

// NewLine begins to show the lines that text returns, but no line that is "". If w is no terminal, a line is written at
// each interval. One goroutine at a time calls text. A terminal cuts a long line off.
func NewLine(w io.Writer, every time.Duration, text func() string) *Line {
	columns := func() int { return terminal.Columns(w) }
	return newLine(terminal.Raw(w), every, columns, text)
}

func newLine(w io.Writer, every time.Duration, columns func() int, text func() string) *Line {
	if os.Getenv("TERM") == "dumb" { // it cannot clear a line
		columns = func() int { return 0 }
	}
	l := &Line{w: w, columns: columns, text: text}
	if columns() > 0 {
		every = drawEvery
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				l.draw()
			case <-done:
				return
			}
		}
	})
	l.stop = sync.OnceFunc(func() { close(done); wg.Wait() })
	return l
}

// Every is the usual interval of a line that is written, drawEvery the interval on a terminal.
const (
	Every     = 2 * time.Second
	drawEvery = 100 * time.Millisecond
)

// wipe moves to the beginning of the line and clears it.
const wipe = "\r\x1b[K"

func (l *Line) draw() {
	text := terminal.Clean(l.text())
	l.mu.Lock()
	defer l.mu.Unlock()
	columns := l.columns()
	switch {
	case text == "":
	case columns == 0:
		_, _ = fmt.Fprintln(l.w, text)
	default:
		l.drawn = terminal.Cut(text, max(columns-1, 1))
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

// countFrom is the time until the first line of a Count.
const countFrom = time.Second

// Count shows in a Line how many of total steps are done, after the first second; what names the steps, as in "7 of
// 20 runs". Call step after each; several goroutines may call it. Close the line at the end.
func Count(w io.Writer, what string, total int) (l *Line, step func()) {
	began := time.Now()
	var done atomic.Int64
	text := func() string {
		past, done := time.Since(began), int(done.Load())
		switch {
		case past < countFrom:
			return ""
		case done == 0:
			return fmt.Sprintf("0 of %d %s", total, what)
		}
		// The rest takes as long as at the pace until now.
		left := time.Duration(float64(past) / float64(done) * float64(total-done))
		return fmt.Sprintf("%d of %d %s, some %v left", done, total, what, left.Round(time.Second))
	}
	return NewLine(w, Every, text), func() { done.Inc() }
}
