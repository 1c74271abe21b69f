package upload

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
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
	assert.Equal(t, "20/40 files  2.0 MiB of 4.0 MiB  1.0 MiB/s  cwnd 21.5  3 refused  1 failed  2s left", g.line(m))
	assert.Equal(t, "[##########----------]  50%  ", g.bar(m))

	m.trouble = errors.New("connection refused")
	assert.Contains(t, g.line(m), "1 failed  waiting: connection refused")
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

func TestProgressInLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		files := int64(0)
		p := show(&b, func() moment {
			files += 100
			return moment{at: time.Duration(files) * time.Second, files: files, cwnd: 20}
		})
		time.Sleep(2*lineEvery + time.Second)
		p.around(func() { b.WriteString("failed: x\n") })
		p.close()
		assert.Equal(t, []string{
			"100/100+ files  0 B of 0 B+  0 B/s  cwnd 20.0  0 refused",
			"200/200+ files  0 B of 0 B+  0 B/s  cwnd 20.0  0 refused",
			"failed: x",
		}, strings.Split(strings.TrimSpace(b.String()), "\n"))
	})
}

func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		p := show(&b, func() moment { return moment{at: time.Second, files: 7, cwnd: 20} })
		p.columns = func() int { return 12 }
		p.draw()
		p.around(func() { b.WriteString("failed: x\n") })
		p.close()
		assert.Equal(t, "\r7/7+ files \x1b[K\r\x1b[Kfailed: x\n", b.String())
	})
}
