package aimdaws_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/fakes3"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/window"
)

// warden is a guard that keeps what it was told.
type warden struct {
	mu  sync.Mutex
	log []string
}

func (w *warden) Admit(_ context.Context, attempt int) error {
	w.note(fmt.Sprint(attempt))
	return nil
}

func (w *warden) Ended(_ context.Context, o window.Outcome) { w.note(o.String()) }

func (w *warden) note(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, s)
}

func (w *warden) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.log
	w.log = nil
	return log
}

func TestGuards(t *testing.T) { synctest.Test(t, testGuards) }

func testGuards(t *testing.T) {
	s := newStore(t, once(fakes3.Refuse))
	var w warden
	l := newLimiter(t, aimd.WithGuard(&w))
	c := s.client(l)
	require.NoError(t, put(t.Context(), c, "k", "x"))
	require.Equal(t, []string{"0", "overload", "2", "success"}, w.told())

	out, err := get(t.Context(), c, "k")
	require.NoError(t, err)
	require.Equal(t, []string{"0"}, w.told(), "it ends with the body")
	require.NoError(t, out.Body.Close())
	require.Equal(t, []string{"success"}, w.told())

	_, err = get(t.Context(), c, "missing")
	requireCode(t, err, "NoSuchKey")
	require.Equal(t, []string{"0", "client error"}, w.told())

	require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { return put(ctx, c, "k", "x") }))
	require.Equal(t, []string{"1", "success"}, w.told(), "Do has asked them")

	l.Close()
	require.ErrorIs(t, put(t.Context(), c, "k", "x"), limiter.ErrClosed)
	require.Equal(t, []string{"0", "none"}, w.told())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, put(ctx, c, "k", "x"), context.Canceled)
	require.Empty(t, w.told())
}

// Exhausted means fail at once, and the SDK does not try again.
func TestARetryBudget(t *testing.T) { synctest.Test(t, testARetryBudget) }

func testARetryBudget(t *testing.T) {
	budget, err := retry.NewBudget(retry.BudgetSettings{}, nil)
	require.NoError(t, err)
	s := newStore(t, scripted(func(w http.ResponseWriter, r *http.Request) bool { fakes3.Refuse(w, r); return true }))
	l := newLimiter(t, aimd.WithGuard(budget))
	err = put(t.Context(), s.client(l), "k", "x")
	require.ErrorIs(t, err, retry.ErrBudget)
	requireCode(t, err, "SlowDown")
	requireOutcomes(t, l, outcomes{overloads: 1 + 3})
}
