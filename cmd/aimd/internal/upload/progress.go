package upload

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
)

// total is the number and the size of all files.
type total struct{ files, bytes int64 }

// progress shows how far the run is until hide is called. A second walk counts ahead.
func (u *run) progress(ctx context.Context) (hide func()) {
	if u.Quiet {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var counting sync.WaitGroup
	if u.From == "" {
		counting.Go(func() { u.count(ctx) })
	}
	line := progress.NewLine(u.Stderr, progress.Every, u.line)
	u.report.mu.Lock()
	defer u.report.mu.Unlock()
	u.report.around = line.Around
	return func() {
		cancel()
		counting.Wait()
		line.Close()
	}
}

func (u *run) count(ctx context.Context) {
	var all total
	walker{yield: func(e entry) bool {
		all.files++
		if info, err := os.Stat(e.path); err == nil && e.err == nil {
			all.bytes += info.Size()
		}
		return ctx.Err() == nil
	}}.argument(u.Source)
	if ctx.Err() == nil {
		u.total.Store(&all)
	}
}

// line is how far the run is. The time left comes first: a terminal cuts the end off.
func (u *run) line() string {
	s, l, sent := u.report.now(), u.limiter.Snapshot(), u.wire.sent.Load()
	done := sent + u.unsent.Load()
	left, files, size := "", fmt.Sprint(s.files()), showBytes(done)
	if all := u.total.Load(); all != nil {
		files, size = fmt.Sprintf("%s of %d", files, all.files), size+" of "+showBytes(all.bytes)
		if done > 0 {
			left = fmt.Sprintf("some %v left  ", progress.Left(time.Since(u.report.began), done, max(done, all.bytes)))
		}
	}
	rate := showBytes(int64(float64(sent) / s.Seconds))
	text := fmt.Sprintf("%s%s files  %s  %s/s  cwnd %.1f  %d refused", left, files, size, rate, l.Cwnd, l.Overloads)
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
