package throttle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/internal/sliding"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Throttle rejects requests at the client while the service refuses most requests. One Throttle is for one service.
// It is safe for any number of goroutines. Make one with New.
//
// It is a guard (attempt.Guard) of limiters and of retry policies. Alone, it is used with Do, or with Admit
// and Ended. A request should pass it once. A program with a clock of its own, such as a simulator, uses AdmitAt and
// EndedAt instead: now is the time since any start that stays the same, and a time before the last one counts as it.
type Throttle struct {
	clock  clock.Clock
	made   time.Time
	runner attempt.Runner
	config Config

	mu sync.Mutex
	// levels has a level for each criticality, the least critical first.
	levels [tag.CriticalPlus - tag.Sheddable + 1]level
}

type level struct {
	// requests counts requests that were answered or rejected. The accepts are marked.
	requests sliding.Counter
	// sent is the time when the last request went; at first so long ago that the next one goes.
	sent time.Duration
}

// buckets is the number of parts of the window. Our choice: two seconds each at two minutes.
const buckets = 60

// Config has the settings of a Throttle. Zero fields take the documented default.
type Config struct {
	// Window is the time for which requests count: 1 s to 1 h; 0 means 2 min.
	Window time.Duration
	// K is the number of requests that are sent for each accepted one, 1 to 100; 0 means 2.
	K float64
	// Probe is the longest time for which a criticality sends no request: the next request goes despite the
	// probability. 1 ms to Window; 0 means 1 s.
	Probe time.Duration
	// Rand is the source of chance, used under the throttle's lock; nil: one with a random seed.
	Rand *rand.Rand
	// Classifier reads the errors of Do; nil: verdict.Classify.
	Classifier verdict.Classifier
}

// New returns a throttle without requests, or an error that names the wrong setting.
func New(c Config) (*Throttle, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("throttle: %w", err)
	}
	t := &Throttle{clock: clock.New(), config: c}
	t.made = t.clock.Now()
	for i := range t.levels {
		t.levels[i] = level{requests: sliding.New(c.Window, buckets), sent: -c.Probe}
	}
	t.runner = attempt.Runner{Guards: []attempt.Guard{t}, Classifier: c.Classifier}
	return t, nil
}

func (c Config) withDefaults() (Config, error) {
	c.Rand = cmp.Or(c.Rand, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	err := cmp.Or(
		// "each client task keeps the following information for the last two minutes of its history: requests,
		// accepts" (SRE book, chapter 21).
		check.Duration("Window", &c.Window, 2*time.Minute, time.Second, time.Hour),
		// "we generally prefer the 2x multiplier" (SRE book, chapter 21). Twice as much as the service accepts
		// reaches it, so that a service that takes more again is noticed soon.
		check.Number("K", &c.K, 2, 1, 100),
	)
	// Our choice. If all requests are refused, the formula alone lets about one pass in a window; a service that is
	// back would be found after minutes.
	if c.Probe = cmp.Or(c.Probe, time.Second); c.Probe < time.Millisecond || c.Probe > c.Window {
		err = cmp.Or(err, check.Wrong("Probe", c.Probe, "a duration from 1ms to the window, %v", c.Window))
	}
	return c, err
}

// Do runs fn once and returns its error. The classifier decides how the error counts. If the request is rejected,
// Do returns an ErrThrottled. A panic in fn does not count.
func (t *Throttle) Do(ctx context.Context, fn func(context.Context) error) error {
	a, err := t.runner.Begin(ctx)
	if err != nil {
		return err
	}
	defer a.Drop()
	err = fn(a.Context())
	a.End(err)
	return err
}

// Admit decides whether a request, with the criticality of the context (tag.WithCriticality), may be sent. It
// returns an ErrThrottled, or nil: then call Ended once.
func (t *Throttle) Admit(ctx context.Context, _ int) error {
	return t.AdmitAt(t.clock.Since(t.made), tag.FromContext(ctx).Criticality)
}

// AdmitAt is Admit at a time. A rejected request counts as a request that the service did not accept.
func (t *Throttle) AdmitAt(now time.Duration, of tag.Criticality) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.level(of)
	requests, accepts, p := t.counts(now, l)
	if p > 0 && t.config.Rand.Float64() < p {
		l.requests.Added(now, false)
		return &rejected{p, of, requests, accepts, t.config.Window}
	}
	l.sent = max(l.sent, now)
	return nil
}

// Ended reports the end of an admitted request, with the context of Admit. A request without an answer does not
// count: the zero Outcome, and Neutral after the end of the context.
func (t *Throttle) Ended(ctx context.Context, o window.Outcome) {
	if o != window.Neutral || ctx.Err() == nil {
		t.EndedAt(t.clock.Since(t.made), tag.FromContext(ctx).Criticality, o)
	}
}

// EndedAt is Ended at a time. Overload and Timeout are no accepts; the zero Outcome does not count. Requests do not
// count when they are sent: a client that starts with many at once must not reject its own.
func (t *Throttle) EndedAt(now time.Duration, of tag.Criticality, o window.Outcome) {
	if o.Valid() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.level(of).requests.Added(now, !o.Overloaded())
	}
}

// Counts returns the requests and the accepts within the window, and the probability of a rejection now.
func (t *Throttle) Counts(of tag.Criticality) (requests, accepts int, rejection float64) {
	now := t.clock.Since(t.made)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts(now, t.level(of))
}

// counts is Counts of a level. The probability is from 0 to less than 1 (SRE book, chapter 21, Handling Overload, equation
// 21-1). It is 0 if the criticality sent no request for Probe.
func (t *Throttle) counts(now time.Duration, l *level) (requests, accepts int, rejection float64) {
	sum := l.requests.Sum(now)
	if now-l.sent < t.config.Probe {
		all := float64(sum.All)
		rejection = max(0, (all-float64(t.config.K*float64(sum.Marked)))/(all+1))
	}
	return sum.All, sum.Marked, rejection
}

// level is the level of the criticality, an invalid one being the nearest.
func (t *Throttle) level(of tag.Criticality) *level {
	return &t.levels[min(max(of, tag.Sheddable), tag.CriticalPlus)-tag.Sheddable]
}

// ErrThrottled: the client rejected the request, and did not send it. The errors of Admit and Do wrap it, and say
// why.
var ErrThrottled = verdict.With(errors.New("throttle: rejected by the client"),
	verdict.Facts{Verdict: verdict.Verdict{Meaning: answer.Final}, Reach: verdict.Unsent})

type rejected struct {
	probability       float64
	of                tag.Criticality
	requests, accepts int
	window            time.Duration
}

func (e *rejected) Error() string {
	return fmt.Sprintf("%v: probability %.2f, since of %d %s requests in %v the service accepted %d",
		ErrThrottled, e.probability, e.requests, e.of, e.window, e.accepts)
}

func (e *rejected) Unwrap() error { return ErrThrottled }
