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
	for columns, want := range map[int]string{
		0:  "line 1\nline 2\nfailed: x\n",
		80: wipe + "line 1" + wipe + "line 2" + wipe + "failed: x\nline 2" + wipe,
		6:  wipe + "line " + wipe + "line " + wipe + "failed: x\nline " + wipe,
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
		c := NewCount(&b, "runs", 4)
		for range 4 {
			time.Sleep(time.Second + time.Millisecond)
			c.Step()
		}
		c.Close()
		assert.Equal(t, "1 of 4 runs, some 6s left\n3 of 4 runs, some 1s left\n", b.String())
	})
}

func TestCountOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		c := new(Count)
		c.Line = newLine(&b, Every, func() int { return 80 }, c.text("runs", 2))
		time.Sleep(950 * time.Millisecond)
		c.Step()
		time.Sleep(100 * time.Millisecond)
		c.Close()
		assert.Equal(t, "\r\x1b[K1 of 2 runs, some 1s left\r\x1b[K", b.String())
	})
}
