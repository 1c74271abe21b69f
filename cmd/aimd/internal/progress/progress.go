// Package progress shows on standard error how runs get on: as moving bars on a
// terminal, as a plain line every two seconds elsewhere.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// Display shows runs, one after the other. Close it after the last.
type Display interface {
	measure.Watcher
	// Close ends the display; a run that was not ended is left as it stands.
	Close()
}

// New returns the display that suits the writer: bars if it is a terminal.
func New(w io.Writer) Display {
	if columns := terminal.Columns(w); columns > 0 {
		return newBars(terminal.Raw(w), columns)
	}
	return newLines(w)
}

// status is how a run stands, in a few words.
func status(s measure.Sample) string {
	cwnd := ""
	if s.Cwnd > 0 {
		cwnd = fmt.Sprintf("cwnd %.1f  ", s.Cwnd)
	}
	return fmt.Sprintf("%s%d in flight  %d refused", cwnd, s.InFlight, s.Refused)
}

// result is how a run ended, in a few words.
func result(r measure.Result) string {
	switch {
	case r.Interrupted:
		return "interrupted"
	case r.Lost > 0:
		return fmt.Sprintf("%d refused  %d lost", r.Refused, r.Lost)
	}
	return fmt.Sprintf("%d refused  none lost", r.Refused)
}

// ticking calls f again and again until it is told to stop; it stops when
// f has returned for the last time.
type ticking struct {
	stop chan struct{}
	wg   sync.WaitGroup
}

func tick(every time.Duration, f func()) *ticking {
	t := &ticking{stop: make(chan struct{})}
	t.wg.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				f()
			case <-t.stop:
				return
			}
		}
	})
	return t
}

// end may be called on nil.
func (t *ticking) end() {
	if t != nil {
		close(t.stop)
		t.wg.Wait()
	}
}

// lines shows a run as a plain line every two seconds.
type lines struct {
	w    io.Writer
	tick *ticking
}

const lineEvery = 2 * time.Second

func newLines(w io.Writer) *lines { return &lines{w: w} }

func (l *lines) Begin(strategy string, m *measure.Meter) {
	l.tick = tick(lineEvery, func() {
		s := m.Now()
		l.print("%-12s %5.1f s  %d/%d done  %s\n", strategy, s.At.Seconds(), s.Done, m.Operations(), status(s))
	})
}

func (l *lines) End(r measure.Result) {
	l.Close()
	l.print("%-12s %5.1f s  %s\n", r.Strategy, r.MakespanS, result(r))
}

func (l *lines) Warn(err error) { l.print("aimd: %v\n", err) }

func (l *lines) Close() {
	l.tick.end()
	l.tick = nil
}

// print leaves write errors be: without standard error there is no progress to see.
func (l *lines) print(format string, args ...any) { _, _ = fmt.Fprintf(l.w, format, args...) }
