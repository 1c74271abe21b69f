package fulljitter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDelay(t *testing.T) {
	for _, c := range []struct {
		n    int
		most time.Duration
	}{{0, First}, {1, 2 * First}, {7, 128 * First}, {8, Longest}, {1000, Longest}} {
		assert.Zero(t, delay(c.n, 0))
		assert.Equal(t, c.most/2, delay(c.n, 0.5), "retry %d", c.n)
	}
}

var errBusy, errFinal = errors.New("busy"), errors.New("final")

func busy(err error) bool { return err == errBusy }

func TestRetriesUntilSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := Retry(t.Context(), busy, func(context.Context) error {
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
	err := Retry(t.Context(), busy, func(context.Context) error { calls++; return errFinal })
	assert.Equal(t, errFinal, err)
	assert.Equal(t, 1, calls)
}

func TestStopsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		err := Retry(ctx, busy, func(context.Context) error { return errBusy })
		assert.Equal(t, errBusy, err)
		assert.Equal(t, time.Minute, time.Since(start))
	})
}
