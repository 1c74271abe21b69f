package race

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
)

// drawn is a random source that always draws the same.
type drawn float64

func (d drawn) Float64() float64     { return float64(d) }
func (d drawn) NormFloat64() float64 { return 0 }

func TestDelaysAreFullJitter(t *testing.T) {
	for retry, most := range map[int]time.Duration{1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 8: 12800 * time.Millisecond, 9: 20 * time.Second, 1000: 20 * time.Second} {
		for _, u := range []drawn{0, 0.5} {
			d, again := delays.Delay(backoff.State{Retry: retry}, u)
			assert.True(t, again)
			assert.Equal(t, time.Duration(float64(u)*float64(most)), d, "retry %d", retry)
		}
	}
}

type status int

func (s status) Error() string       { return http.StatusText(int(s)) }
func (s status) HTTPStatusCode() int { return int(s) }

func TestBackoffRetriesWhatMayPass(t *testing.T) {
	s, err := newStrategy("backoff", 0)
	require.NoError(t, err)
	for _, again := range []error{status(503), status(429), status(408), status(500), errors.New("connection reset")} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			require.NoError(t, s.Retry(t.Context(), func(context.Context) error {
				if calls++; calls < 50 {
					return again
				}
				return nil
			}))
			assert.Equal(t, 50, calls)
		})
	}
	for _, final := range []error{status(403), status(404), fmt.Errorf("put: %w", status(400))} {
		calls := 0
		err := s.Retry(t.Context(), func(context.Context) error { calls++; return final })
		assert.ErrorIs(t, err, final)
		assert.Equal(t, 1, calls)
	}
}

func TestBackoffContinuesToTheLimitOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := raced(t, t.Context(), Race{Operations: 2, Goroutines: 2, Limit: time.Minute}, "backoff", task{do: func(context.Context, int) error {
			return status(503)
		}})
		assert.True(t, r.CutOff)
		assert.Equal(t, 60.0, r.MakespanS)
	})
}
