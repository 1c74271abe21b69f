package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// Line is one line of text that tells how things stand: drawn anew in its place on a
// terminal, written every now and then elsewhere. Close it at the end.
type Line struct {
	w io.Writer
	// columns is the width of the terminal, 0 if it is none.
	columns func() int
	text    func() string
	tick    *ticking

	// mu is held while something is written.
	mu sync.Mutex
	// drawn is the terminal's line.
	drawn string
}

// NewLine begins to show what text returns, nothing if that is "". Where there is no
// terminal it is written so often. text is called by one goroutine at a time; what
// does not fit in the terminal is cut off.
func NewLine(w io.Writer, every time.Duration, text func() string) *Line {
	columns := func() int { return terminal.Columns(w) }
	return newLine(terminal.Raw(w), every, columns, text)
}

func newLine(w io.Writer, every time.Duration, columns func() int, text func() string) *Line {
	l := &Line{w: w, columns: columns, text: text}
	if columns() > 0 {
		every = barEvery
	}
	l.tick = tick(every, l.draw)
	return l
}

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

// Around has write write something else: above the line, which stays.
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

// Close ends it; on a terminal it leaves no line behind. Around may be called after it.
func (l *Line) Close() {
	l.tick.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drawn != "" {
		_, _ = io.WriteString(l.w, wipe)
		l.drawn = ""
	}
}
