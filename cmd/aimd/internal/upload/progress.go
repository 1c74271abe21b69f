package upload

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
)

const (
	// lineEvery is how often the progress is written if there is no terminal.
	lineEvery = 5 * time.Second
	// fileWork is the work for a file in addition to its bytes, in bytes: what a slot could
	// send during a round trip. Our choice, for some 30 ms and 8 MiB/s.
	fileWork = 256 << 10
)

// amount is a number of files and their size.
type amount struct{ files, bytes int64 }

func (a amount) work() float64 { return float64(a.bytes) + fileWork*float64(a.files) }

// moment is how far the run is.
type moment struct {
	// at is the time since the start.
	at time.Duration
	// done is what is stored or left out, sent what was stored in this run; both with the
	// bytes of files under way. all is what there is; nil: not counted yet.
	done, sent amount
	all        *amount
	// failed counts files, refused requests.
	failed  int64
	refused uint64
	cwnd    float64
	// trouble is why there are no answers; nil: there are.
	trouble error
}

// String is the line for people. What they wait for comes first: a terminal cuts the end off.
func (m moment) String() (s string) {
	files, bytes := fmt.Sprint(m.done.files), bytesShown(m.done.bytes)
	if m.all != nil {
		share := min(1, m.done.work()/max(1, m.all.work()))
		s = progress.Bar(share)
		left := (m.all.work() - m.done.work()) / m.sent.work() * m.at.Seconds()
		if m.trouble == nil && share < 1 && left < 100*time.Hour.Seconds() {
			s += fmt.Sprintf("%v left  ", time.Duration(math.Ceil(left))*time.Second)
		}
		files, bytes = fmt.Sprintf("%s/%d", files, m.all.files), bytes+" of "+bytesShown(m.all.bytes)
	}
	if m.trouble != nil {
		s += fmt.Sprintf("waiting: %v  ", m.trouble)
	}
	s += fmt.Sprintf("%s files  %s  %s/s  cwnd %.1f  %d refused", files, bytes,
		bytesShown(int64(float64(m.sent.bytes)/max(m.at.Seconds(), 1e-3))), m.cwnd, m.refused)
	if m.failed > 0 {
		s += fmt.Sprintf("  %d failed", m.failed)
	}
	return s
}

// progress shows how the run gets on until hide is called.
func (u *run) progress(ctx context.Context) (hide func()) {
	if u.Quiet {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	all := new(atomic.Pointer[amount])
	var wg sync.WaitGroup
	if u.From == "" {
		wg.Go(func() { all.Store(u.count(ctx)) })
	}
	line := progress.NewLine(u.Stderr, lineEvery, func() string { return u.moment(all.Load()).String() })
	u.report.mu.Lock()
	defer u.report.mu.Unlock()
	u.report.around = line.Around
	return func() {
		cancel()
		wg.Wait()
		line.Close()
	}
}

func (u *run) moment(all *amount) moment {
	s, l := u.report.now(), u.limiter.Snapshot()
	sent := amount{s.Stored, u.wire.sent.Load()}
	return moment{
		at: time.Duration(s.Seconds * float64(time.Second)), sent: sent, all: all,
		done:   amount{s.Stored + s.Skipped + s.Failed + s.Planned, sent.bytes + s.left},
		failed: s.Failed, refused: l.Overloads, cwnd: l.Cwnd, trouble: u.wire.trouble.Load(),
	}
}

// count walks ahead of the upload. It returns nil if the context ends first.
func (u *run) count(ctx context.Context) *amount {
	all := new(amount)
	walker{yield: func(e entry) bool {
		all.files++
		if info, err := os.Stat(e.path); err == nil && e.err == nil {
			all.bytes += info.Size()
		}
		return ctx.Err() == nil
	}}.argument(u.Source)
	if ctx.Err() != nil {
		return nil
	}
	return all
}
