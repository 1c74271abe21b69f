package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

func tenPerSecond(operations int) time.Duration { return time.Duration(operations) * time.Second / 10 }

func everything(int) bool { return true }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestRunMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter, err := aimd.NewReno(aimd.WithInitialWindow(10), aimd.WithInitialSsthresh(20))
		require.NoError(t, err)
		defer limiter.Close()
		m := NewMeter(100, limiter)
		o := Pool{Goroutines: 10}.Run(t.Context(), m, func(ctx context.Context, i int) error {
			if i == 7 {
				return sleep(ctx, 3*time.Second)
			}
			return sleep(ctx, time.Second)
		})
		r := o.Judged("reno", 0.9, everything, tenPerSecond)
		assert.Equal(t, 100, r.Operations)
		assert.Equal(t, 11.0, r.MakespanS, "the slow one holds up one goroutine of ten for 2 s")
		assert.Equal(t, 10.0, r.OptimumS)
		assert.InDelta(t, 1.1, r.TimesOptimum(), 1e-9)
		assert.Equal(t, 1.0, r.P99S, "one in a hundred may take longer")
		assert.Equal(t, []float64{10, 20}, []float64{r.Samples[0].Cwnd, r.Samples[0].Ssthresh})
		assert.InDelta(t, 1100, len(r.Samples), 3)
		assert.Equal(t, 11*time.Second, r.Samples[len(r.Samples)-1].At)
		time.Sleep(time.Hour)
		assert.Equal(t, 11*time.Second, m.Now().At, "its time stands still when it is over")
		assert.Zero(t, r.Lost)
		assert.False(t, r.Interrupted || r.CutOff)
	})
}

func TestLongRunsKeepFewSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Pool{Goroutines: 1}.Run(t.Context(), NewMeter(1, nil), func(ctx context.Context, _ int) error {
			return sleep(ctx, 10*time.Minute)
		})
		assert.LessOrEqual(t, len(o.Samples), maxSamples+1)
		last := len(o.Samples) - 1
		assert.Equal(t, 10*time.Minute, o.Samples[last].At)
		spaces := map[time.Duration]bool{}
		for i := range last - 1 {
			spaces[o.Samples[i+1].At-o.Samples[i].At] = true
		}
		assert.Equal(t, map[time.Duration]bool{16 * sampleEvery: true}, spaces, "evenly spaced")
	})
}

func TestFailedAndSilentlyLost(t *testing.T) {
	m := NewMeter(10, nil)
	o := Pool{Goroutines: 3}.Run(t.Context(), m, func(_ context.Context, i int) error {
		if i < 4 {
			return fmt.Errorf("upload: %w", fmt.Errorf("%d tokens left", i))
		}
		if i == 4 {
			return errors.New("broken")
		}
		return nil
	})
	// The service has 0, whose answer went astray, and has not 9.
	served := func(i int) bool { return i == 0 || i > 4 && i < 9 }
	r := o.Judged("plain", 0, served, tenPerSecond)
	assert.Equal(t, 10, r.Operations)
	assert.Equal(t, 5, r.Lost)
	assert.Equal(t, 1, r.Silent)
	assert.Regexp(t, `^\d tokens left$`, r.Reason)
}

func TestInterruptedRunCountsWhatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		o := Pool{Goroutines: 10}.Run(ctx, NewMeter(100, nil), func(ctx context.Context, i int) error {
			return sleep(ctx, time.Second)
		})
		r := o.Judged("reno", 0.9, func(i int) bool { return i != 3 && i < 20 }, tenPerSecond)
		assert.True(t, r.Interrupted)
		assert.False(t, r.CutOff)
		assert.Equal(t, 20, r.Operations)
		assert.Equal(t, 1, r.Lost)
		assert.Equal(t, 2.0, r.OptimumS)
		assert.Empty(t, r.Reason, "being stopped is no failure")
	})
}

func TestTimeLimitLosesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Pool{Goroutines: 10, Limit: 2500 * time.Millisecond}.Run(t.Context(), NewMeter(100, nil), func(ctx context.Context, i int) error {
			return sleep(ctx, time.Second)
		})
		r := o.Judged("backoff", 0, func(i int) bool { return i < 20 }, tenPerSecond)
		assert.True(t, r.CutOff)
		assert.False(t, r.Interrupted)
		assert.Equal(t, 100, r.Operations)
		assert.Equal(t, 80, r.Lost)
		assert.Zero(t, r.Silent)
		assert.Equal(t, 2.5, r.MakespanS)
	})
}

type answers []int

func (a *answers) RoundTrip(*http.Request) (*http.Response, error) {
	status := (*a)[0]
	*a = (*a)[1:]
	if status == 0 {
		return nil, errors.New("connection lost")
	}
	return &http.Response{StatusCode: status}, nil
}

func TestTransportCountsEveryAttempt(t *testing.T) {
	m := NewMeter(1, nil)
	tr := m.Transport(&answers{200, 204, 503, 429, 404, 0})
	for range 6 {
		_, _ = tr.RoundTrip(nil)
	}
	now := m.Now()
	assert.Equal(t, Sample{Attempts: 6, Accepted: 2, Refused: 2}, now)
}

func TestTraces(t *testing.T) {
	samples := []Sample{{Cwnd: 20}}
	for i := 1; i <= 20; i++ {
		at := time.Duration(i)*50*time.Millisecond + time.Duration(i%2)*7*time.Millisecond
		samples = append(samples, Sample{At: at, Accepted: int(at / (10 * time.Millisecond)), Refused: i, Cwnd: 20 + at.Seconds()})
	}
	traces, end := Traces(samples)
	assert.Equal(t, time.Second, end)
	assert.Equal(t, sampleEvery, traces.Interval)
	rate, refused := 0.0, 0.0
	for i := range 100 {
		rate += traces.Of("successes")[i] / 100
		refused += traces.Of("refusals")[i] / 100
		assert.InDelta(t, 100, traces.Of("successes")[i], 50, i)
		assert.InDelta(t, 20+float64(i+1)/100, traces.Of("cwnd")[i], 1e-6, i)
	}
	assert.InDelta(t, 100, rate, 1e-6)
	assert.InDelta(t, 20, refused, 1e-6)
	none, _ := Traces(nil)
	assert.Empty(t, none.Series)
	still, _ := Traces(make([]Sample, 2))
	assert.Empty(t, still.Of("cwnd"), "no time has passed")
}

func TestJSONHasTheKeysThatScriptsRelyOn(t *testing.T) {
	b, err := json.Marshal(Result{Strategy: "reno", Factor: 0.9, Operations: 2000, Attempts: 2020, Refused: 20, MakespanS: 6.5, OptimumS: 6.25, P99S: 1})
	require.NoError(t, err)
	assert.Equal(t, `{"strategy":"reno","factor":0.9,"operations":2000,"attempts":2020,"refused":20,"lost":0,"makespan_s":6.5,"optimum_s":6.25,"p99_s":1}`, string(b))
	b, err = json.Marshal(Result{Interrupted: true})
	require.NoError(t, err)
	assert.Contains(t, string(b), `"interrupted":true`)
}
