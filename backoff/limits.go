package backoff

import (
	"cmp"
	"math"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
)

// LimitAttempts is b with at most n attempts of an operation, its first one included: n = 1 means no
// retry. n is 1 or more; less counts as 1.
func LimitAttempts(b Backoff, n int) Backoff { return fewer{b, n} }

type fewer struct {
	Backoff
	attempts int
}

func (b fewer) Delay(s State, r Rand) (time.Duration, bool) {
	// Retry N is attempt N+1; not computed so, it might overflow.
	if max(s.Retry, 1) > max(b.attempts, 1)-1 {
		return 0, false
	}
	return ask(b.Backoff, s, r)
}

func (b fewer) check() error {
	return cmp.Or(Check(b.Backoff), setting.Count("attempt limit", &b.attempts, 0, 1, math.MaxInt))
}

// LimitElapsed is b with no retry that would begin later than limit after the operation's first attempt;
// one that b would put later is not made. limit is 1 ns to MaxDelay; less means no retry. It needs
// State.Elapsed.
func LimitElapsed(b Backoff, limit time.Duration) Backoff { return sooner{b, limit} }

type sooner struct {
	Backoff
	limit time.Duration
}

func (b sooner) Delay(s State, r Rand) (time.Duration, bool) {
	d, ok := ask(b.Backoff, s, r)
	if !ok || b.limit < 1 || d > b.limit-max(s.Elapsed, 0) {
		return 0, false
	}
	return d, true
}

func (b sooner) check() error { return cmp.Or(Check(b.Backoff), positive("elapsed limit", b.limit)) }

// ask is the delay of b, one from elsewhere brought within the bounds.
func ask(b Backoff, s State, r Rand) (time.Duration, bool) {
	d, ok := b.Delay(s, r)
	return min(max(d, 0), MaxDelay), ok
}

// positive returns an error that names the setting unless 1 ns <= d <= MaxDelay.
func positive(name string, d time.Duration) error {
	return setting.Duration(name, &d, 0, 1, MaxDelay)
}
