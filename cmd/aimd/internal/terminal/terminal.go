// Package terminal writes to the terminal. It knows the width of the terminal and whether it has colours. Control
// characters in a scenario's title, an argument or a server's answer do not reach the terminal.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"go.uber.org/atomic"
	"golang.org/x/term"
)

// Writer cleans texts, as Clean does. It is as safe for several goroutines as the writer behind it.
type Writer struct {
	to io.Writer
	// screen is nil if the writer is no terminal.
	screen *os.File
	colour bool
	// Failed is the error of the last write that failed, nil before.
	Failed atomic.Error
}

// New returns a writer to w. There is colour on a terminal, unless NO_COLOR is set
// (https://no-color.org) or the terminal is dumb.
func New(w io.Writer) *Writer {
	t := &Writer{to: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		t.screen = f
		t.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return t
}

// Write implements io.Writer.
func (t *Writer) Write(p []byte) (int, error) {
	if _, err := t.to.Write([]byte(Clean(string(p)))); err != nil {
		t.Failed.Store(err)
		return 0, err
	}
	return len(p), nil
}

// Columns returns the width of the terminal that w writes to, in characters, or 0 if w is no terminal.
func Columns(w io.Writer) int {
	t, ok := w.(*Writer)
	if !ok || t.screen == nil {
		return 0
	}
	columns, _, err := term.GetSize(int(t.screen.Fd()))
	if err != nil || columns <= 0 {
		return 80
	}
	return columns
}

// Colour reports whether what is written to w may be coloured.
func Colour(w io.Writer) bool {
	t, ok := w.(*Writer)
	return ok && t.colour
}

// Raw returns the writer behind w, for colours and for a line that is drawn again. All other text for it must be clean.
func Raw(w io.Writer) io.Writer {
	if t, ok := w.(*Writer); ok {
		return t.to
	}
	return w
}

// Clean returns s with its control characters as JSON writes them, \u001b, except
// newlines and tabs. So JSON keeps its meaning. Invalid UTF-8 becomes U+FFFD.
func Clean(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Cut returns the first columns of the line. 0 columns is no limit.
func Cut(s string, columns int) string {
	line := []rune(s)
	if columns <= 0 || len(line) <= columns {
		return s
	}
	return string(line[:columns-1]) + "…"
}
