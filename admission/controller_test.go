package admission_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is what Admit returned.
type answer struct {
	permit admission.Permit
	err    error
}

// admit calls Admit in a goroutine, and returns when that has decided or waits.
func admit(ctx context.Context, c *admission.Controller, t tag.Tags) <-chan answer {
	to := make(chan answer, 1)
	go func() {
		p, err := c.Admit(ctx, t)
		to <- answer{p, err}
	}()
	synctest.Wait()
	return to
}

func controller(t *testing.T, l admission.Limit, s admission.Settings) *admission.Controller {
	t.Helper()
	c, err := admission.New(l, admission.Config{Settings: s})
	require.NoError(t, err)
	return c
}

func TestWhatDoesNotFitWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, admission.Fixed(1), admission.Settings{})
		p, err := c.Admit(t.Context(), tag.Tags{})
		require.NoError(t, err)
		background := admit(t.Context(), c, tag.Tags{Criticality: tag.Sheddable})
		interactive := admit(t.Context(), c, tag.Tags{})
		require.Empty(t, background)
		require.Empty(t, interactive)

		time.Sleep(100 * time.Millisecond)
		require.NoError(t, p.Done(window.Success))
		synctest.Wait()
		a := <-interactive
		require.NoError(t, a.err)
		require.Equal(t, 100*time.Millisecond, a.permit.Waited())
		require.Empty(t, background)

		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		var shed *admission.Shed
		require.ErrorAs(t, (<-background).err, &shed)
		require.Equal(t, admission.Expired, shed.Reason)
		require.Equal(t, admission.DefaultQueueTime, shed.Waited)
		require.NoError(t, a.permit.Done(window.Success))
		require.ErrorIs(t, a.permit.Done(window.Success), admission.ErrReleased)
	})
}
