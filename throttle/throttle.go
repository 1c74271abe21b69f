package throttle

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/rejection"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Throttle rejects requests at the client while the service refuses most requests. One Throttle is for one service.
// It is safe for any number of goroutines. Make one with New.
//
// It is a guard (attempt.Guard) of limiters and of retry policies. Alone, it is used with Do, or with Admit
// and Ended. A request should pass it once.
type Throttle struct {
	clock clock.Clock
	// made is the time from which the core's time counts.
	made   time.Time
	runner attempt.Runner
	mu     sync.Mutex
	core   rejection.Core
}

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
	// Classifier reads the errors of Do; nil: attempt.Classify.
	Classifier attempt.Classifier
}

// New returns a throttle without requests, or an error that names the wrong setting.
func New(c Config) (*Throttle, error) {
	c.Rand = cmp.Or(c.Rand, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	core, err := rejection.New(rejection.Settings{Window: c.Window, K: c.K, Probe: c.Probe, Rand: c.Rand})
	if err != nil {
		return nil, fmt.Errorf("throttle: %w", err)
	}
	source := clock.New()
	t := &Throttle{clock: source, made: source.Now(), core: core}
	t.runner = attempt.Runner{Guards: []attempt.Guard{t}, Classifier: c.Classifier}
	return t, nil
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
func (t *Throttle) Admit(ctx context.Context, attempt int) error {
	of, now := tag.FromContext(ctx).Criticality, t.clock.Since(t.made)
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.core.Rejection(now, of)
	requests, accepts := t.core.Counts(now, of)
	if t.core.Asked(now, of) {
		return nil
	}
	return &rejected{p, of, requests, accepts, t.core.Window()}
}

// Ended reports the end of an admitted request, with the context of Admit. A request without an answer does not
// count: the zero Outcome, and Neutral after the end of the context.
func (t *Throttle) Ended(ctx context.Context, o window.Outcome) {
	if o == window.Neutral && ctx.Err() != nil {
		return
	}
	of, now := tag.FromContext(ctx).Criticality, t.clock.Since(t.made)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.core.Ended(now, of, o)
}

// Counts returns the requests and the accepts within the window, and the probability of a rejection now.
func (t *Throttle) Counts(of tag.Criticality) (requests, accepts int, rejection float64) {
	now := t.clock.Since(t.made)
	t.mu.Lock()
	defer t.mu.Unlock()
	requests, accepts = t.core.Counts(now, of)
	return requests, accepts, t.core.Rejection(now, of)
}

// ErrThrottled: the client rejected the request, and did not send it. The errors of Admit and Do wrap it, and say
// why.
var ErrThrottled error = throttled{}

type throttled struct{}

func (throttled) Error() string { return "throttle: rejected by the client" }

// Facts says that the service was not asked.
func (throttled) Facts() attempt.Facts {
	return attempt.Facts{Verdict: attempt.Verdict{Meaning: answer.Final}, Reach: attempt.Unsent}
}

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
