package upload

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
)

// lineEvery is the time between two lines of progress if there is no terminal.
const lineEvery = 5 * time.Second

// progress shows how far the run is until hide is called.
func (u *run) progress() (hide func()) {
	if u.Quiet {
		return func() {}
	}
	line := progress.NewLine(u.Stderr, lineEvery, u.line)
	u.report.mu.Lock()
	defer u.report.mu.Unlock()
	u.report.around = line.Around
	return line.Close
}

// line is how far the run is.
func (u *run) line() string {
	s, l, sent := u.report.now(), u.limiter.Snapshot(), u.wire.sent.Load()
	rate := showBytes(int64(float64(sent) / s.Seconds))
	text := fmt.Sprintf("%d files  %s  %s/s  cwnd %.1f  %d refused", s.Stored+s.Skipped+s.Failed+s.Planned, showBytes(sent), rate, l.Cwnd, l.Overloads)
	if s.Failed > 0 {
		text += fmt.Sprintf("  %d failed", s.Failed)
	}
	if why := u.wire.trouble.Load(); why != nil {
		return fmt.Sprintf("waiting: %v  %s", why, text)
	}
	return text
}

// showBytes is a number of bytes in a unit that suits it.
func showBytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/(1<<10), 0
	for ; x >= 999.95 && unit < 3; unit++ {
		x /= 1 << 10
	}
	return fmt.Sprintf("%.1f %s", x, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}
