package verdict_test

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
	"github.com/aimd-go/aimd/verdict"
)

// knows is a Factual error, perhaps around another.
type knows struct {
	error
	facts verdict.Facts
}

func (k knows) Facts() verdict.Facts { return k.facts }
func (k knows) Unwrap() error        { return k.error }

// The outermost error that knows a meaning decides. A wait alone counts for what Classify reads.
func TestErrorsThatKnowTheirVerdict(t *testing.T) {
	means := func(m answer.Meaning, wait time.Duration, err error) error {
		return fmt.Errorf("call: %w", knows{err, verdict.Facts{Verdict: verdict.Verdict{Meaning: m, Wait: wait}}})
	}
	reason := errors.New("mine")
	for _, c := range []struct {
		err  error
		want verdict.Verdict
	}{
		{means(answer.Passing, 0, status{code: 503}), again},
		{means(answer.Unknown, 0, means(answer.Passing, 0, nil)), again},
		{means(answer.Passing, 0, means(answer.Fault, 0, nil)), again},
		{means(answer.Unknown, time.Second, status{code: 503}), after(overload, time.Second)},
		{means(answer.Unknown, time.Second, status{code: 400}), after(overload, time.Second)},
		{means(answer.Unknown, 0, status{code: 503}), overload},
		{means(answer.Passing, 0, context.Canceled), again},
		{knows{io.EOF, verdict.Facts{Verdict: verdict.Verdict{Reason: reason}}}, verdict.Verdict{Reason: reason}},
		{&attempt.Error{Attempts: 1, Reason: context.Canceled, Cause: means(answer.Refused, 0, nil)}, final},
		{chain{means(answer.Passing, 0, nil)}, again},
	} {
		assert.Equal(t, c.want, verdict.Classify(c.err), "%v", c.err)
	}
}

var errOpaque = errors.New("the driver failed")

// chain hides its errors from Unwrap, as go-multierror does.
type chain []error

func (c chain) Error() string      { return "several" }
func (c chain) As(target any) bool { return errors.As(c[0], target) }

// Whatever an error of a tree says of its reach holds: what guards are told depends on it.
func TestErrorsThatKnowTheirReach(t *testing.T) {
	reach := func(r verdict.Reach, err error) error { return knows{err, verdict.Facts{Reach: r}} }
	for _, c := range []struct {
		err     error
		notSent bool
		told    string
	}{
		{reach(verdict.Unsaid, errOpaque), false, "neutral"},
		{reach(verdict.Unsent, errOpaque), true, "none"},
		{reach(verdict.Unreached, errOpaque), false, "none"},
		{reach(verdict.Unanswered, errOpaque), false, "none"},
		{reach(verdict.Answered, io.EOF), false, "neutral"},
		{reach(verdict.Unanswered, reach(verdict.Answered, errOpaque)), false, "neutral"},
		{reach(verdict.Unanswered, reach(verdict.Unsent, errOpaque)), true, "none"},
		{&attempt.Error{Attempts: 2, Cause: reach(verdict.Unsent, errOpaque)}, false, "neutral"},
	} {
		assert.Equal(t, c.told == "none", verdict.Read(c.err).Unanswered, "%v", c.err)
		assert.Equal(t, c.notSent, verdict.NotSent(c.err), "%v", c.err)
	}
}

// An attempt without an error has a tree that all share: the race detector looks at it here.
func TestNoErrorIsReadByMany(t *testing.T) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			assert.False(t, verdict.NotSent(nil))
			assert.False(t, verdict.CutOff(nil))
			assert.Zero(t, verdict.Classify(nil))
		})
	}
	wg.Wait()
}
