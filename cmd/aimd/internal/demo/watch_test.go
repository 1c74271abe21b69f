package demo

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/race"
	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
)

// naps are operations of two seconds, but for a millisecond. The service has all but one.
type naps struct{}

func (naps) Optimum(int) time.Duration { return time.Second }

func (naps) Start(*strategy.Strategy, *http.Client) (race.Service, error) {
	return race.Service{
		Do: func(context.Context, int) error {
			time.Sleep(2*time.Second - time.Millisecond)
			return nil
		},
		Has: func(i int) bool { return i > 0 }, Peak: func() int { return 0 }, Close: func() {},
	}, nil
}

// A run of 10 operations, two seconds each but for the last millisecond.
func TestWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		w := &watcher{w: &b}
		r := race.Race{Operations: 10, Goroutines: 2, Factor: 0.9, Only: []string{"reno"}}
		for x, err := range r.Run(t.Context(), naps{}, w.begin) {
			require.NoError(t, err)
			w.end(x)
		}
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
		w.begin("plain", race.NewMeter(1, nil))
		w.close()
		w.close()
	})
}
