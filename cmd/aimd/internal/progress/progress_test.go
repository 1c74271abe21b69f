package progress

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
)

// run shows a run of 10 operations, two seconds each but for the last millisecond.
func run(t *testing.T, d Display) {
	m := measure.NewMeter(10, func() measure.Window { return measure.Window{Cwnd: 2, Ssthresh: 8} })
	d.Begin("reno", m)
	o := measure.Pool{Goroutines: 2}.Run(t.Context(), m, func(context.Context, int) error {
		time.Sleep(2*time.Second - time.Millisecond)
		return nil
	})
	d.End(o.Result("reno", 0.9, func(i int) bool { return i > 0 }, func(int) time.Duration { return time.Second }))
	d.Warn(errors.New("the bucket is left"))
	d.Close()
}

func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		run(t, newLines(&b))
		assert.Equal(t, strings.Join([]string{
			"reno           2.0 s  2/10 done  cwnd 2.0  0 in flight  0 refused",
			"reno           4.0 s  4/10 done  cwnd 2.0  0 in flight  0 refused",
			"reno           6.0 s  6/10 done  cwnd 2.0  0 in flight  0 refused",
			"reno           8.0 s  8/10 done  cwnd 2.0  0 in flight  0 refused",
			"reno          10.0 s  0 refused  1 lost",
			"aimd: the bucket is left",
			"",
		}, "\n"), b.String())
	})
}

func TestBars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		run(t, newBars(&b, 100))
		assert.Contains(t, b.String(), "reno             8 done  cwnd 2.0  0 in flight  0 refused")
		assert.Contains(t, b.String(), "reno         0 refused  1 lost")
		assert.Contains(t, b.String(), "aimd: the bucket is left")
	})
}

func TestCloseInTheMiddle(t *testing.T) {
	for name, d := range map[string]Display{"lines": newLines(&bytes.Buffer{}), "bars": newBars(&bytes.Buffer{}, 80)} {
		t.Run(name, func(t *testing.T) {
			d.Begin("reno", measure.NewMeter(1, nil))
			d.Close()
		})
	}
	newBars(&bytes.Buffer{}, 80).Close()
}

func TestAFileGetsLines(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer f.Close()
	assert.IsType(t, &lines{}, New(f))
}
