package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// limiter is one that the test closes.
func limiter(t *testing.T, config aimd.Config) *aimd.Limiter {
	t.Helper()
	l, err := aimd.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// cost is a job's time over the shortest possible time, and its attempts for each operation.
type cost struct {
	span, attempts float64
}

func (c cost) within(most cost) bool { return c.span <= most.span && c.attempts <= most.attempts }

func (c cost) String() string {
	return fmt.Sprintf("%.3f x optimum @ %.3f attempts each", c.span, c.attempts)
}

// noise multiplies the bounds on time, and strays is added to the bound on attempts, if a test
// runs once and other tests run at the same time. Reno 0.9 takes 1.4 to 3 attempts at limits
// that count refusals, so that the gate still finds a law that does not adapt.
const (
	noise  = 2
	strays = 0.25
)

// eased is the bound on this machine: for the figures of one run among others, unless the figures count.
func (c cost) eased() cost {
	return amount(c, cost{noise * c.span, c.attempts + strays})
}

// attempt runs a test that measures, up to three times until its figures are good, since other
// work on the machine can only make them worse. Each run requires on its own whatever must hold
// on every machine.
func attempt(t *testing.T, measure func(t *testing.T) (good bool)) {
	t.Helper()
	for range 3 {
		var good bool
		if !t.Run("run", func(t *testing.T) { good = measure(t) }) || good {
			return
		}
	}
	t.Error("the figures were not good in any of three runs")
}

func ratio(took, optimum time.Duration) float64 { return took.Seconds() / optimum.Seconds() }
