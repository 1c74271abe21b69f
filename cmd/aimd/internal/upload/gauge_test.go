package upload

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestGauge(t *testing.T) {
	var g gauge
	m := moment{at: time.Second, files: 10, bytes: 1 << 20, cwnd: 20, allFiles: 30, allBytes: 2 << 20}
	g.seen(m)
	assert.Equal(t, "10/30+ files  1.0 MiB of 2.0 MiB+  1.0 MiB/s  cwnd 20.0  0 refused", g.line(m))
	assert.Empty(t, g.bar(m))

	m = moment{at: 2 * time.Second, files: 20, bytes: 2 << 20, cwnd: 21.5, allFiles: 40, allBytes: 4 << 20, counted: true, refused: 3, failed: 1}
	g.seen(m)
	assert.Equal(t, "2s left  20/40 files  2.0 MiB of 4.0 MiB  1.0 MiB/s  cwnd 21.5  3 refused  1 failed", g.line(m))
	assert.Equal(t, "[##########----------]  50%  ", g.bar(m))

	m.trouble = errors.New("connection refused")
	assert.Contains(t, g.line(m), "waiting: connection refused  20/40 files")
	m.trouble = nil
	m.files, m.bytes, m.at = 40, 4<<20, 3*time.Second
	g.seen(m)
	assert.NotContains(t, g.line(m), "left")
	assert.Equal(t, "[####################] 100%  ", g.bar(m))
}

func TestGaugeOfAStandstill(t *testing.T) {
	var g gauge
	m := moment{at: time.Second, allFiles: 5, counted: true}
	g.seen(m)
	g.seen(m)
	assert.NotContains(t, g.line(m), "left")
	assert.Empty(t, g.bar(moment{counted: true}))
}

// A large file whose first bytes fill the buffers on the way, and the others go at
// the network's pace.
func TestTimeLeftOfALargeFile(t *testing.T) {
	const pace, buffered, size = 10 << 20, 50 << 20, 2 << 30
	var g gauge
	for at := 200 * time.Millisecond; ; at += 200 * time.Millisecond {
		sent := min(size, int64(buffered+at.Seconds()*pace))
		m := moment{at: at, bytes: sent, allFiles: 1, allBytes: size, counted: true}
		g.seen(m)
		if sent == size {
			return
		}
		if at >= 10*time.Second {
			left, ok := g.left(m)
			assert.True(t, ok)
			want := float64(size-sent) / pace
			assert.InDelta(t, 0, math.Log2((left.Seconds()+1)/(want+1)), 1, "after %v: %v, want %v s", at, left, want)
		}
	}
}

// A terminal of 80 columns has the time left, whatever else is to be told.
func TestTimeLeftIsCutLast(t *testing.T) {
	var g gauge
	m := moment{allFiles: 1_234_567, allBytes: 5 << 40, counted: true}
	g.seen(m)
	m.at, m.files, m.bytes, m.failed, m.refused, m.cwnd = time.Second, 123, 1<<30, 1000, 100_000, 1234.5
	g.seen(m)
	line := g.bar(m) + g.line(m)
	assert.Greater(t, len(line), 80)
	assert.Regexp(t, `^\[-+\]   0%  \S+ left  `, line[:79])
}
