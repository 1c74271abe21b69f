package riverlimit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/riverlimit"
	"github.com/aimd-go/aimd/httplimit"
)

// A worker that cancels or snoozes its job wraps the refusal. The job was worked again, 147 times in half an hour, and then
// snoozed: never cancelled.
func TestAWorkerMayCancelARefusedJob(t *testing.T) {
	refused := &httplimit.StatusError{StatusCode: 503}
	for _, want := range []error{river.JobCancel(refused), errors.Join(refused, fmt.Errorf("night: %w", river.JobSnooze(time.Hour)))} {
		l, worked := newLimiter(t, aimd.Config{}), 0
		err := middleware(t, &river.Config{}, riverlimit.Settings{Limiter: l}).Work(t.Context(), &rivertype.JobRow{}, func(context.Context) error {
			worked++
			return want
		})
		require.Equal(t, want, err)
		require.Equal(t, 1, worked)
		require.Equal(t, uint64(1), l.Snapshot().Overloads, "the limiter hears the refusal")
	}
}
