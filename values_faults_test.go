package aimd_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// strange are numbers and times that a program might set by mistake.
var strange = map[reflect.Kind][]any{
	reflect.Float64: {math.NaN(), math.Inf(1), math.Inf(-1), 1e308, -1e308, 5e-324, -1.0, 0.5, 1.0, 1e6, float64(1 << 20)},
	reflect.Int:     {math.MinInt, math.MaxInt, -1, 1, 2, math.MaxInt >> 23, 1_000_000_000}, // 1 << 40 - 1, of 64 bits
	reflect.Int64:   {int64(math.MinInt64), int64(math.MaxInt64), int64(-1), int64(1), int64(2), int64(1 << 40), int64(1e9)},
}

// eachStrange calls f with a function that sets one field of a T to a strange value, for each field and value.
func eachStrange[T any](f func(name string, value any, set func(*T))) {
	typ := reflect.TypeFor[T]()
	for i := range typ.NumField() {
		for _, value := range strange[typ.Field(i).Type.Kind()] {
			f(typ.Field(i).Name, value, func(to *T) {
				field := reflect.ValueOf(to).Elem().Field(i)
				field.Set(reflect.ValueOf(value).Convert(field.Type()))
			})
		}
	}
}

// endures does one operation that is refused three times. It ends within three hours, and the limiter is sound.
func endures(t *testing.T, l *aimd.Limiter, what ...any) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
	defer cancel()
	n, began := 0, time.Now()
	_ = l.Do(ctx, func(context.Context) error {
		time.Sleep(time.Millisecond)
		if n++; n < 4 {
			return &attempt.Error{Attempts: 1, Reason: errors.New("x"), Cause: errors.New("too many requests")}
		}
		return nil
	})
	assert.LessOrEqual(t, time.Since(began), 3*time.Hour, what)
	s := l.Snapshot()
	assert.True(t, s.InFlight == 0 && s.Queued == 0 && s.Cwnd > 0 && s.Gap >= 0, "%v: %v", what, s)
	l.Close()
}

// Whatever a setting is, at the start or later: it is refused, or operations end.
func TestAnyValueOfASetting(t *testing.T) {
	refused, taken := 0, 0
	for _, law := range []window.NewLaw{nil, aimd.Reno(0.9), aimd.Tahoe(0.5, 1)} {
		eachStrange(func(name string, value any, set func(*aimd.Config)) {
			synctest.Test(t, func(t *testing.T) {
				c := aimd.Config{Law: law}
				later := attempttest.Limiter(t, c)
				if later.Reconfigure(set) != nil {
					refused++
				}
				endures(t, later, name, value, "later")
				set(&c)
				first, err := aimd.New(c)
				if err != nil {
					refused++
					return
				}
				taken++
				endures(t, first, name, value)
			})
		})
	}
	require.Greater(t, refused, 300)
	require.Greater(t, taken, 100)
}

// Whatever a policy decides and a classifier says, operations end.
func TestAnyValueOfADecision(t *testing.T) {
	times := []time.Duration{math.MinInt64, math.MaxInt64, -1, 0, time.Hour}
	for _, wait := range times {
		for _, after := range times {
			synctest.Test(t, func(t *testing.T) {
				decide := func(attempt.Failure) attempt.Decision {
					return attempt.Decision{Retry: true, Delay: wait, RetryAfter: after}
				}
				l := attempttest.Limiter(t, aimd.Config{Policy: policy(decide), MaxAttempts: 50})
				endures(t, l, wait, after)
			})
		}
		for _, meaning := range meanings() {
			synctest.Test(t, func(t *testing.T) {
				says := func(error) verdict.Verdict { return verdict.Verdict{Meaning: meaning, Wait: wait} }
				l := attempttest.Limiter(t, aimd.Config{Classifier: says, MaxAttempts: 20})
				endures(t, l, meaning, wait)
			})
		}
	}
}

// meanings are all, and some that there are not.
func meanings() (all []answer.Meaning) {
	for m := range answer.Meaning(20) {
		all = append(all, m)
	}
	return append(all, 127, 128, 255)
}

// Whatever a backoff is made of: it is refused, or five attempts end.
func TestAnyValueOfABackoff(t *testing.T) {
	taken := 0
	eachStrange(func(name string, value any, set func(*backoff.Exponential)) {
		var e backoff.Exponential
		set(&e)
		p, err := retry.New(retry.Config{Backoff: e, MaxAttempts: 5})
		if err != nil {
			return
		}
		taken++
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			began := time.Now()
			assert.Error(t, retry.Do(retry.WithIdempotent(ctx), p, func(context.Context) error { return errors.New("too many requests") }))
			assert.LessOrEqual(t, time.Since(began), time.Hour, "%s: %v", name, value)
		})
	})
	require.Greater(t, taken, 5)
}
