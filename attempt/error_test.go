package attempt_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/attempt"
)

// An error says what those who only know it by its methods want to know.
func TestAnErrorOfAnOperationWithin(t *testing.T) {
	for _, c := range []struct {
		err             attempt.Error
		timeout, unsent bool
	}{
		{attempt.Error{Reason: errors.New("shut")}, false, true},
		{attempt.Error{Reason: context.DeadlineExceeded}, true, true},
		{attempt.Error{Attempts: 1, Cause: status{code: 503}}, false, false},
		{attempt.Error{Attempts: 1, Cause: unsent{}}, false, true},
		{attempt.Error{Attempts: 2, Cause: unsent{}}, false, false}, // the first was perhaps
		{attempt.Error{Attempts: 2, Reason: attempt.ErrAttempts, Cause: context.DeadlineExceeded}, true, false},
	} {
		require.Equal(t, c.timeout, c.err.Timeout(), c.err.Error())
		require.Equal(t, c.unsent, c.err.NotSent(), c.err.Error())
	}
}
