package progress

import (
	"bytes"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLine(t *testing.T) {
	t.Setenv("TERM", "xterm")
	for columns, want := range map[int]string{
		0:  "line 1\nline 2\nfailed: x\n",
		80: wipe + "line 1" + wipe + "line 2" + wipe + "failed: x\nline 2" + wipe,
		6:  wipe + "line…" + wipe + "line…" + wipe + "failed: x\nline…" + wipe,
	} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			n := 0
			l := newLine(&b, drawEvery, func() int { return columns }, func() string {
				n++
				return "line " + strconv.Itoa(n)
			})
			time.Sleep(2*drawEvery + time.Millisecond)
			l.Around(func() { b.WriteString("failed: x\n") })
			l.Close()
			assert.Equal(t, want, b.String())
		})
	}
}

// Anything longer than a second shows its progress.
func TestCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		line, step := Count(&b, "runs", 4)
		time.Sleep(2*time.Second + time.Millisecond)
		for range 3 {
			step()
			time.Sleep(time.Second)
		}
		line.Close()
		assert.Equal(t, "0 of 4 runs\n2 of 4 runs, some 4s left\n", b.String())
	})
}
