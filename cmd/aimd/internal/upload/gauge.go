package upload

import (
	"context"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/walk"
)

type moment struct {
	at time.Duration
	// files and bytes are what is done with, whatever became of it.
	files, bytes int64
	// allFiles and allBytes are what there is, as far as it is counted; counted: that is all.
	allFiles, allBytes int64
	counted            bool
	// failed counts files, refused requests.
	failed, refused int64
	cwnd            float64
	// trouble is why no answers come; nil: they come.
	trouble error
}

// fileWork is the work for a file beside that for its bytes, in bytes: what a slot
// could send in the time of a round trip. Our choice, for some 30 ms and 8 MiB/s.
const fileWork = 256 << 10

// done and all are the work that is done, and all that is counted.
func (m moment) done() float64 { return float64(m.bytes) + fileWork*float64(m.files) }
func (m moment) all() float64  { return float64(m.allBytes) + fileWork*float64(m.allFiles) }

// gauge makes lines of moments. It knows how fast things went of late.
type gauge struct {
	last moment
	// time, bytes and work are what went by and was done, in seconds and bytes, the
	// less of it the longer ago.
	time, bytes, work float64
}

// memory is how long ago counts for a third. Our choice: long enough to be read,
// short enough to see the store change, and longer than it takes
// parts that begin together.
const memory = 20 * time.Second

func (g *gauge) seen(m moment) {
	dt := m.at - g.last.at
	if dt <= 0 {
		return
	}
	keep := math.Exp(-dt.Seconds() / memory.Seconds())
	g.time = g.time*keep + dt.Seconds()
	g.bytes = g.bytes*keep + float64(m.bytes-g.last.bytes)
	g.work = g.work*keep + m.done() - g.last.done()
	g.last = m
}

// rate is so much per second; 0 before there is a moment.
func (g *gauge) rate(x float64) float64 {
	if g.time == 0 {
		return 0
	}
	return max(0, x/g.time) // less than 0 where bytes go once more
}

// line is the moment in words. What people wait for comes first: a terminal cuts
// the end off.
func (g *gauge) line(m moment) string {
	total := func(n string) string {
		if m.counted {
			return n
		}
		return n + "+" // the walk has not come to its end
	}
	s := ""
	if m.trouble != nil {
		s = fmt.Sprintf("waiting: %v  ", m.trouble)
	} else if left, ok := g.left(m); ok {
		s = fmt.Sprintf("%v left  ", left)
	}
	s += fmt.Sprintf("%d/%s files  %s of %s  %s/s  cwnd %.1f  %d refused", m.files, total(fmt.Sprint(max(m.allFiles, m.files))),
		bytesShown(m.bytes), total(bytesShown(max(m.allBytes, m.bytes))), bytesShown(int64(g.rate(g.bytes))), m.cwnd, m.refused)
	if m.failed > 0 {
		s += fmt.Sprintf("  %d failed", m.failed)
	}
	return s
}

func (g *gauge) left(m moment) (time.Duration, bool) {
	seconds := (m.all() - m.done()) / g.rate(g.work)
	if !m.counted || m.files >= m.allFiles || !(seconds < (100 * time.Hour).Seconds()) { // nothing moves
		return 0, false
	}
	return time.Duration(math.Ceil(max(0, seconds-1e-3))) * time.Second, true
}

// bar is the share of the work that is done. There is none before all is counted.
func (g *gauge) bar(m moment) string {
	if !m.counted || m.all() == 0 {
		return ""
	}
	return progress.Bar(max(0, min(1, m.done()/m.all())))
}

// count is a second walk, ahead of the first, that tells how much there is to do.
// It holds no more than the first does.
type count struct {
	files, bytes atomic.Int64
	// over: all is counted.
	over atomic.Bool
	wg   sync.WaitGroup
}

// begin counts in the background until the context ends.
func (c *count) begin(ctx context.Context, w walk.Walker, roots []string) {
	c.wg.Go(func() {
		for e := range w.Files(ctx, roots) {
			c.files.Add(1)
			if e.Err != nil {
				continue
			}
			if info, err := os.Stat(e.Path); err == nil {
				c.bytes.Add(info.Size())
			}
		}
		c.over.Store(ctx.Err() == nil)
	})
}
