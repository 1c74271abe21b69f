package attempttest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/window"
)

// Limiter is a limiter with these settings.
func Limiter(t testing.TB, c aimd.Config) *aimd.Limiter {
	t.Helper()
	l, err := aimd.New(c)
	require.NoError(t, err)
	return l
}

// Reno is a limiter with these settings, whose window nothing but the answers changes.
func Reno(t testing.TB, c aimd.Config) *aimd.Limiter {
	t.Helper()
	c.Law = aimd.Reno(0.5)
	return Limiter(t, c)
}

// Acquire waits for a slot.
func Acquire(t testing.TB, l *aimd.Limiter) aimd.Permit {
	t.Helper()
	p, err := l.Acquire(t.Context())
	require.NoError(t, err)
	return p
}

// Idle requires that every slot was released, once, and that the line is empty.
func Idle(t testing.TB, l *aimd.Limiter) {
	t.Helper()
	s := l.Snapshot()
	require.Zero(t, s.InFlight, "in flight")
	require.Zero(t, s.Queued, "queued")
	require.Zero(t, s.Late, "second releases")
}

// Status is an error that tells an HTTP status and a Retry-After.
type Status struct {
	HTTP  int
	After time.Duration
}

func (s Status) Error() string { return fmt.Sprintf("%d %s", s.HTTP, http.StatusText(s.HTTP)) }

// HTTPStatusCode is what the classifier of package verdict looks for.
func (s Status) HTTPStatusCode() int { return s.HTTP }

// RetryAfter is the wait that the service asks for.
func (s Status) RetryAfter() time.Duration { return s.After }

// Guard keeps what it was asked, and what it heard. The zero value admits all.
type Guard struct {
	// Refuse is what it says to each attempt.
	Refuse error

	mu       sync.Mutex
	attempts []int
	ended    []window.Outcome
}

// Admit implements attempt.Guard.
func (g *Guard) Admit(_ context.Context, attempt int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.Refuse == nil {
		g.attempts = append(g.attempts, attempt)
	}
	return g.Refuse
}

// Ended implements attempt.Guard.
func (g *Guard) Ended(_ context.Context, o window.Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = append(g.ended, o)
}

// Heard are the numbers of the attempts that it admitted, and how those that ended did, in order.
func (g *Guard) Heard() ([]int, []window.Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.attempts), slices.Clone(g.ended)
}
