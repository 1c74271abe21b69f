package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// bars shows each run as a bar that moves, and keeps it when the run is over.
type bars struct {
	writer progress.Writer
	// rendered is closed when nothing is drawn any more.
	rendered chan struct{}
	tick     *ticking
	tracker  *progress.Tracker
}

const (
	barEvery = 100 * time.Millisecond
	// Widths in characters, so that all fits in 100 columns. What does not fit in the
	// terminal is left out at the right.
	messageWidth, barWidth = 66, 14
)

func newBars(w io.Writer, columns int) *bars {
	b := &bars{writer: progress.NewWriter(), rendered: make(chan struct{})}
	b.writer.SetOutputWriter(w)
	b.writer.SetTerminalWidth(columns)
	b.writer.SetUpdateFrequency(barEvery)
	b.writer.SetMessageLength(messageWidth)
	b.writer.SetTrackerLength(barWidth)
	b.writer.SetTrackerPosition(progress.PositionRight)
	style := progress.StyleDefault
	style.Visibility.Value = false
	style.Options.TimeDonePrecision = 10 * time.Millisecond
	style.Options.TimeInProgressPrecision = 100 * time.Millisecond
	b.writer.SetStyle(style)
	go func() {
		b.writer.Render()
		close(b.rendered)
	}()
	return b
}

func (b *bars) Begin(strategy string, m *measure.Meter) {
	tracker := &progress.Tracker{Message: message(strategy, m.Now()), Total: int64(m.Operations()), AutoStopDisabled: true}
	b.tracker = tracker
	b.writer.AppendTracker(tracker)
	b.tick = tick(barEvery, func() {
		s := m.Now()
		tracker.SetValue(int64(s.Done))
		tracker.UpdateMessage(message(strategy, s))
	})
}

func (b *bars) End(r measure.Result) {
	b.tick.end()
	b.tick = nil
	b.tracker.UpdateMessage(fmt.Sprintf("%-12s %s", r.Strategy, result(r)))
	b.tracker.SetValue(int64(r.Operations))
	if r.Interrupted {
		b.tracker.MarkAsErrored()
		return
	}
	b.tracker.MarkAsDone()
}

func (b *bars) Warn(err error) { b.writer.Log("aimd: %s", terminal.Clean(err.Error())) }

// Close waits until the last state was drawn.
func (b *bars) Close() {
	b.tick.end()
	b.tick = nil
	if b.tracker != nil && !b.tracker.IsDone() {
		b.tracker.MarkAsErrored()
	}
	for {
		b.writer.Stop() // does nothing as long as Render has not begun
		select {
		case <-b.rendered:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func message(strategy string, s measure.Sample) string {
	return fmt.Sprintf("%-12s %5d done  %s", strategy, s.Done, status(s))
}
