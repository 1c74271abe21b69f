package upload

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

const (
	// barEvery and lineEvery are how often a terminal's line is drawn anew, and how
	// often a line is written elsewhere.
	barEvery  = 200 * time.Millisecond
	lineEvery = 5 * time.Second
)

// progress shows on standard error how the upload gets on: one line that is
// drawn anew on a terminal, a line every few seconds elsewhere.
type progress struct {
	w io.Writer
	// columns is the width of the terminal, 0 if it is none.
	columns func() int
	look    func() moment
	gauge   gauge
	stop    chan struct{}
	wg      sync.WaitGroup

	// mu is held while something is written.
	mu sync.Mutex
	// drawn: the terminal's line is there.
	drawn bool
}

// show begins to show what look sees.
func show(w io.Writer, look func() moment) *progress {
	p := &progress{w: w, columns: func() int { return 0 }, look: look, stop: make(chan struct{})}
	every := lineEvery
	if terminal.Columns(w) > 0 {
		every = barEvery
		p.columns = func() int { return terminal.Columns(w) }
		p.w = terminal.Raw(w)
	}
	p.wg.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				p.draw()
			case <-p.stop:
				return
			}
		}
	})
	return p
}

func (p *progress) draw() {
	m := p.look()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gauge.seen(m)
	columns := p.columns()
	if columns == 0 {
		_, _ = fmt.Fprintln(p.w, p.gauge.line(m))
		return
	}
	line := []rune(terminal.Clean(p.gauge.bar(m) + p.gauge.line(m)))
	_, _ = fmt.Fprintf(p.w, "\r%s\x1b[K", string(line[:min(len(line), columns-1)]))
	p.drawn = true
}

// around writes something else: the line goes, to be drawn again later.
func (p *progress) around(write func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
		p.drawn = false
	}
	write()
}

// close ends it, and leaves no line behind.
func (p *progress) close() {
	close(p.stop)
	p.wg.Wait()
	p.around(func() {})
}
