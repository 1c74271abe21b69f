package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
)

// knows is a Factual error, perhaps around another.
type knows struct {
	error
	facts attempt.Facts
}

func (k knows) Facts() attempt.Facts { return k.facts }
func (k knows) Unwrap() error        { return k.error }

// The outermost error that knows a meaning decides. A wait alone counts for what Classify reads.
func TestErrorsThatKnowTheirVerdict(t *testing.T) {
	means := func(m answer.Meaning, wait time.Duration, err error) error {
		return fmt.Errorf("call: %w", knows{err, attempt.Facts{Verdict: attempt.Verdict{Meaning: m, Wait: wait}}})
	}
	reason := errors.New("mine")
	for _, c := range []struct {
		err  error
		want attempt.Verdict
	}{
		{means(answer.Passing, 0, status{code: 503}), again},
		{means(answer.Unknown, 0, means(answer.Passing, 0, nil)), again},
		{means(answer.Passing, 0, means(answer.Fault, 0, nil)), again},
		{means(answer.Unknown, time.Second, status{code: 503}), after(overload, time.Second)},
		{means(answer.Unknown, time.Second, status{code: 400}), after(overload, time.Second)},
		{means(answer.Unknown, 0, status{code: 503}), overload},
		{means(answer.Passing, 0, context.Canceled), again},
		{knows{io.EOF, attempt.Facts{Verdict: attempt.Verdict{Reason: reason}}}, attempt.Verdict{Reason: reason}},
		{&attempt.Error{Attempts: 1, Reason: context.Canceled, Cause: means(answer.Refused, 0, nil)}, final},
		{chain{means(answer.Passing, 0, nil)}, again},
	} {
		assert.Equal(t, c.want, attempt.Classify(c.err), "%v", c.err)
	}
}

// chain hides its errors from Unwrap, as go-multierror does.
type chain []error

func (c chain) Error() string      { return "several" }
func (c chain) As(target any) bool { return errors.As(c[0], target) }

// Whatever an error of a tree says of its reach holds: what guards are told depends on it.
func TestErrorsThatKnowTheirReach(t *testing.T) {
	reach := func(r attempt.Reach, err error) error { return knows{err, attempt.Facts{Reach: r}} }
	for _, c := range []struct {
		err     error
		notSent bool
		told    string
	}{
		{reach(attempt.Untold, errOpaque), false, "neutral"},
		{reach(attempt.Unsent, errOpaque), true, "none"},
		{reach(attempt.Unreached, errOpaque), false, "none"},
		{reach(attempt.Unanswered, errOpaque), false, "none"},
		{reach(attempt.Heard, io.EOF), false, "neutral"},
		{reach(attempt.Unanswered, reach(attempt.Heard, errOpaque)), false, "neutral"},
		{reach(attempt.Unanswered, reach(attempt.Unsent, errOpaque)), true, "none"},
		{&attempt.Error{Attempts: 2, Cause: reach(attempt.Unsent, errOpaque)}, false, "neutral"},
	} {
		var w warden
		a, err := (&attempt.Runner{Guards: []attempt.Guard{&w}}).Begin(t.Context())
		assert.NoError(t, err)
		a.End(c.err)
		assert.Equal(t, []string{"admitted 0", c.told}, w.log, "%v", c.err)
		assert.Equal(t, c.notSent, attempt.NotSent(c.err), "%v", c.err)
	}
}

// An attempt without an error has a tree that all share: the race detector looks at it here.
func TestNoErrorIsReadByMany(t *testing.T) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			assert.False(t, attempt.NotSent(nil))
			assert.False(t, attempt.CutOff(nil))
			assert.Zero(t, attempt.Classify(nil))
		})
	}
	wg.Wait()
}
