package demo

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
)

// A run of 10 operations, two seconds each but for the last millisecond.
func TestWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		w := &watcher{w: &b}
		set, err := measure.SetUp("reno", 0.9)
		require.NoError(t, err)
		defer set.Close()
		m := measure.NewMeter(10, set.Limiter)
		w.Begin("reno", m)
		o := measure.Pool{Goroutines: 2}.Run(t.Context(), m, func(context.Context, int) error {
			time.Sleep(2*time.Second - time.Millisecond)
			return nil
		})
		w.End(o.Judged("reno", 0.9, func(i int) bool { return i > 0 }, func(int) time.Duration { return time.Second }))
		w.close()
		assert.Equal(t, strings.Join([]string{
			"reno           2.0 s  2/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno           4.0 s  4/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno           6.0 s  6/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno           8.0 s  8/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno          10.0 s  0 refused  1 lost",
			"",
		}, "\n"), b.String())
	})
}

func TestWatcherClosedInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // or a goroutine is left
		w := &watcher{w: new(bytes.Buffer)}
		w.Begin("reno", measure.NewMeter(1, nil))
		w.close()
		w.close()
	})
}
