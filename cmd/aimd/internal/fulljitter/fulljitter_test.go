package fulljitter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/backoff"
)

// drawn is a random source that always draws the same.
type drawn float64

func (d drawn) Float64() float64     { return float64(d) }
func (d drawn) NormFloat64() float64 { return 0 }

func TestDelays(t *testing.T) {
	for _, c := range []struct {
		n    int
		most time.Duration
	}{{0, First}, {1, 2 * First}, {7, 128 * First}, {8, Longest}, {1000, Longest}} {
		for _, u := range []drawn{0, 0.5} {
			d, again := delays.Delay(backoff.State{Retry: c.n + 1}, u)
			assert.True(t, again)
			assert.Equal(t, time.Duration(float64(u)*float64(c.most)), d, "retry %d", c.n)
		}
	}
}

type status int

func (s status) Error() string       { return http.StatusText(int(s)) }
func (s status) HTTPStatusCode() int { return int(s) }

const errBusy, errFinal = status(http.StatusServiceUnavailable), status(http.StatusForbidden)

func TestTransient(t *testing.T) {
	for _, again := range []error{errBusy, status(429), status(408), status(500), errors.New("connection reset")} {
		assert.True(t, transient(again), again)
	}
	for _, final := range []error{errFinal, status(404), fmt.Errorf("put: %w", status(400))} {
		assert.False(t, transient(final), final)
	}
}

func TestRetriesUntilSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := Retry(t.Context(), func(context.Context) error {
			if calls++; calls < 50 {
				return errBusy
			}
			return nil
		})
		assert.NoError(t, err)
		assert.Equal(t, 50, calls)
	})
}

func TestStopsAtAFinalError(t *testing.T) {
	calls := 0
	err := Retry(t.Context(), func(context.Context) error { calls++; return errFinal })
	assert.Equal(t, errFinal, err)
	assert.Equal(t, 1, calls)
}

func TestStopsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		err := Retry(ctx, func(context.Context) error { return errBusy })
		assert.Equal(t, errBusy, err)
		assert.Equal(t, time.Minute, time.Since(start))
	})
}
