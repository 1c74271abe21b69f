package aimd_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

var errBusy = &httplimit.StatusError{StatusCode: 503}

func TestDoReturnsTheValueOfTheAttemptThatSucceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New(aimd.Config{})
		require.NoError(t, err)
		calls := 0
		v, err := aimd.Do(t.Context(), l, func(context.Context) (int, error) {
			if calls++; calls < 3 {
				return -1, errBusy
			}
			return 42, nil
		})
		require.NoError(t, err)
		require.Equal(t, 42, v)

		final := errors.New("final")
		v, err = aimd.Do(t.Context(), l, func(context.Context) (int, error) { return 7, final })
		require.ErrorIs(t, err, final)
		require.Zero(t, v, "no value of an attempt that failed")
	})
}

func TestMapYieldsEveryItemWithItsValueOrError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New(aimd.Config{InitialWindow: 4})
		require.NoError(t, err)
		odd := errors.New("odd")
		square := func(_ context.Context, i int) (string, error) {
			time.Sleep(time.Second) // of the bubble's time
			if i%2 == 1 {
				return "none", odd
			}
			return fmt.Sprint(i * i), nil
		}
		got := map[int]string{}
		for r, err := range aimd.Map(t.Context(), l, slices.Values([]int{0, 1, 2, 3, 4, 5}), square) {
			if err != nil {
				require.ErrorIs(t, err, odd)
				require.Empty(t, r.Value)
				got[r.Item] = "odd"
				continue
			}
			got[r.Item] = r.Value
		}
		require.Equal(t, map[int]string{0: "0", 1: "odd", 2: "4", 3: "odd", 4: "16", 5: "odd"}, got)

		for range aimd.Map(t.Context(), l, slices.Values([]int{0, 2, 4}), square) {
			break // what still runs is waited for
		}
		require.Zero(t, l.Snapshot().InFlight)
	})
}

func ExampleDo() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		panic(err)
	}
	page, err := aimd.Do(context.Background(), lim, func(context.Context) (string, error) {
		return "<html>", nil // a request
	})
	fmt.Println(page, err)
	// Output: <html> <nil>
}

func ExampleMap() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		panic(err)
	}
	length := func(_ context.Context, url string) (int, error) { return len(url), nil } // a request
	for r, err := range aimd.Map(context.Background(), lim, slices.Values([]string{"https://example.com/a"}), length) {
		fmt.Println(r.Item, r.Value, err)
	}
	// Output: https://example.com/a 21 <nil>
}
