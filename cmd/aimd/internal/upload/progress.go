package upload

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
)

// lineEvery is the time between two lines of progress if there is no terminal.
const lineEvery = 5 * time.Second

// total is the number and the size of all files; zero until all are counted.
type total struct{ files, bytes int64 }

// progress shows how far the run is until hide is called.
func (u *run) progress(ctx context.Context) (hide func()) {
	if u.Quiet {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	counted := make(chan total, 1)
	if u.From == "" {
		go func() { counted <- u.count(ctx) }()
	}
	var all total
	line := progress.NewLine(u.Stderr, lineEvery, func() string {
		select {
		case all = <-counted:
		default:
		}
		return u.line(all)
	})
	u.report.mu.Lock()
	defer u.report.mu.Unlock()
	u.report.around = line.Around
	return func() {
		cancel()
		line.Close()
	}
}

// count walks ahead of the upload. It returns zero if the context ends first.
func (u *run) count(ctx context.Context) (all total) {
	walker{yield: func(e entry) bool {
		all.files++
		if info, err := os.Stat(e.path); err == nil && e.err == nil {
			all.bytes += info.Size()
		}
		return ctx.Err() == nil
	}}.argument(u.Source)
	if ctx.Err() != nil {
		return total{}
	}
	return all
}

// line is how far the run is.
func (u *run) line(all total) string {
	s, l := u.report.now(), u.limiter.Snapshot()
	text := fmt.Sprintf("%s  cwnd %.1f  %d refused", s.pace(u.wire.sent.Load(), all), l.Cwnd, l.Overloads)
	if s.Failed > 0 {
		text += fmt.Sprintf("  %d failed", s.Failed)
	}
	if why := u.wire.trouble.Load(); why != nil {
		return fmt.Sprintf("waiting: %v  %s", why, text)
	}
	return text
}

// pace is how far and how fast the run is, after that many bytes were sent. The time left
// comes first: a terminal cuts the end off.
func (s Summary) pace(sent int64, all total) (text string) {
	files, bytes, rate := s.Stored+s.Skipped+s.Failed+s.Planned, sent+s.left, float64(sent)/max(s.Seconds, 1e-3)
	count, size := fmt.Sprint(files), showBytes(bytes)
	if all.files > 0 {
		text = progress.Bar(min(1, float64(bytes)/max(1, float64(all.bytes))))
		if left := float64(all.bytes-bytes) / rate; files < all.files && left < (100*time.Hour).Seconds() {
			text += fmt.Sprintf("%v left  ", time.Duration(math.Ceil(max(0, left)))*time.Second)
		}
		count, size = fmt.Sprintf("%d/%d", files, all.files), size+" of "+showBytes(all.bytes)
	}
	return fmt.Sprintf("%s%s files  %s  %s/s", text, count, size, showBytes(int64(rate)))
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
