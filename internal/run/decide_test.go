package run_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/run"
)

func TestDecide(t *testing.T) {
	reason := errors.New("enough")
	pacing := newDesk(0)
	refused := attempt.Failure{Attempt: 3, Err: status{code: 503}, Verdict: after(overload, time.Minute)}
	failed := attempt.Failure{Attempt: 3, Err: status{code: 500}, Verdict: again}
	var told attempt.Failure
	says := func(d attempt.Decision) func(attempt.Failure) attempt.Decision {
		return func(f attempt.Failure) attempt.Decision { told = f; return d }
	}
	for _, c := range []struct {
		name    string
		f       attempt.Failure
		policy  func(attempt.Failure) attempt.Decision
		pacing  run.Pacing
		most    int
		want    attempt.Decision
		backoff int
	}{
		{"nobody tries again", refused, nil, nil, 0, attempt.Decision{}, 0},
		{"the window paces", refused, nil, pacing, 0, attempt.Decision{Retry: true, Delay: time.Minute}, 0},
		{"an own backoff", failed, nil, pacing, 4, attempt.Decision{Retry: true, Delay: 3 * time.Second}, 0},
		{"final", attempt.Failure{Attempt: 1, Verdict: final}, nil, pacing, 0, attempt.Decision{}, 0},
		{"final at the limit", attempt.Failure{Attempt: 3, Verdict: final}, nil, pacing, 3, attempt.Decision{}, 0},
		{"the limit", refused, nil, pacing, 3, attempt.Decision{Reason: attempt.ErrAttempts}, 0},
		{"a limit that was lowered", refused, nil, pacing, 2, attempt.Decision{Reason: attempt.ErrAttempts}, 0},
		{"a policy alone", refused, says(attempt.Decision{Retry: true, Delay: 5}), nil, 0, attempt.Decision{Retry: true, Delay: 5}, 3},
		{"a policy in a limiter", refused, says(attempt.Decision{Retry: true}), pacing, 4, attempt.Decision{Retry: true}, 0},
		{"an error of no load", failed, says(attempt.Decision{Retry: true}), pacing, 0, attempt.Decision{Retry: true}, 3},
		{"a policy's reason", refused, says(attempt.Decision{Reason: reason}), pacing, 3, attempt.Decision{Reason: reason}, 0},
	} {
		told = attempt.Failure{}
		assert.Equal(t, c.want, run.Decide(c.f, c.policy, c.pacing, c.most), c.name)
		assert.Equal(t, c.backoff, told.Backoff, c.name)
	}
}
