package demo

import (
	"fmt"
	"io"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/livepage"
	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// watcher shows the runs, one after the other, and leaves a line of how each ended.
type watcher struct {
	w    io.Writer
	page *livepage.Page
	// hide ends the display of the run that is shown; nil: none is.
	hide func()
}

func (w *watcher) Begin(strategy string, m *measure.Meter) {
	w.page.Add(m.Limiter())
	w.hide = progress.NewLine(w.w, progress.Every, func() string {
		s := m.Now()
		line := fmt.Sprintf("%-12s %5.1f s  %d/%d done  %s", strategy, s.At.Seconds(), s.Done, m.Operations(), status(s))
		if terminal.Columns(w.w) > 0 {
			return progress.Bar(float64(s.Done)/float64(m.Operations())) + line
		}
		return line
	}).Close
}

func (w *watcher) End(r measure.Result) {
	w.close()
	fmt.Fprintf(w.w, "%-12s %5.1f s  %s\n", r.Strategy, r.MakespanS, ended(r))
}

func (w *watcher) Warn(err error) { fmt.Fprintf(w.w, "aimd: %v\n", err) }

// close leaves a run that was not ended as it stands.
func (w *watcher) close() {
	if w.hide != nil {
		w.hide()
		w.hide = nil
	}
}

func status(s measure.Sample) string {
	cwnd := ""
	if s.Cwnd > 0 {
		cwnd = fmt.Sprintf("cwnd %.1f  ", s.Cwnd)
	}
	return fmt.Sprintf("%s%d in flight  %d refused", cwnd, s.InFlight, s.Refused)
}

func ended(r measure.Result) string {
	switch {
	case r.Interrupted:
		return "interrupted"
	case r.Lost > 0:
		return fmt.Sprintf("%d refused  %d lost", r.Refused, r.Lost)
	}
	return fmt.Sprintf("%d refused  none lost", r.Refused)
}
