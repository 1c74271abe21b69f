package retry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/internal/quota"
	"github.com/aimd-go/aimd/internal/reason"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// defaultAttempts: "if a request has already failed three times, we let the failure bubble up to the
// caller" (SRE book, chapter 21, Handling Overload).
const defaultAttempts = 3

// defaultMaxRetryAfter is the same as for limiters.
const defaultMaxRetryAfter = 5 * time.Minute

// defaultBackoff is Safe Client Behaviour's form, "wait(delay * random(.5, 1.5)) ... delay = delay * 2".
var defaultBackoff backoff.Backoff = backoff.Exponential{Jitter: backoff.Proportional(0.5)}

// Config has the settings of a Policy. Zero fields take the documented default.
type Config struct {
	// Backoff is the wait before each retry, and may end the retries; nil: 100 ms, doubling up to 30 s, times
	// U(0.5, 1.5).
	Backoff backoff.Backoff
	// MaxAttempts is the greatest number of attempts of an operation, the first included: from 1, which means no
	// retries. 0 means 3, or the number of the Backoff if it ends, for instance with LastTry; negative: no limit.
	MaxAttempts int
	// Idempotent says that all work under the policy may be done twice, with the same effect as once. Without it
	// only work that was certainly not done is tried again. WithIdempotent is for single operations.
	Idempotent bool
	// Timeouts lets a timeout be followed by a retry of work that is not idempotent. Such work may then be done
	// twice.
	Timeouts bool
	// If decides alone which errors are tried again, idempotent or not; nil means the terms of Policy. An
	// error with a verdict.Verdict.Reason, such as a used quota, is final anyway.
	If func(error) bool
	// MaxRetryAfter is the longest Retry-After; a longer Retry-After counts as this time. 1 ms to 24 h; 0 means 5
	// min.
	MaxRetryAfter time.Duration
	// Rand is the source of jitter; nil: one with a random seed. It is used by one goroutine at a time.
	Rand backoff.Rand

	// Guards are asked before each attempt: a throttle, a Budget. The budget comes last, since it counts the
	// attempts that are sent. In a limiter they are asked after the limiter's own guards.
	Guards []attempt.Guard

	// A limiter has these settings itself, and uses its own.

	// Classifier reads an attempt's error; nil means verdict.Classify.
	Classifier verdict.Classifier
	// AttemptTimeout ends the context of one attempt, which is then a timeout; 0: no timeout.
	AttemptTimeout time.Duration
}

// Policy says which failures are followed by another attempt, and when. The default policy is Safe Client
// Behaviour's "Retries: Terms and Conditions":
//
//   - "Don't retry by default": at most three attempts, and only work that is known to be idempotent
//     (Config.Idempotent, WithIdempotent). Other work is tried again only if it was certainly not sent:
//     the connection could not be made, or the request got no slot (httplimit, contrib/grpclimit).
//   - "Back off exponentially on retries. Jitter retries": from 100 ms to 30 s, times U(0.5, 1.5).
//   - "Don't retry on client errors (HTTP 400 errors)": these are final. But 429 and 408 belong to that class by
//     their number only, and are tried again.
//   - "Do retry on server errors (HTTP 500 errors)", those that can pass: all but 501 and 505. "Do retry
//     on network errors."
//   - "Do retry (carefully) on timeouts": of work that is idempotent; of other work if it is asked for
//     (Config.Timeouts).
//   - "Don't retry on out of quota": an error code that says so is final, even with a 429.
//
// The classifier decides the kind of an error (verdict.Classify). A Retry-After is obeyed, with jitter added: up to
// half of the Retry-After, at most a second.
//
// It is safe for any number of goroutines. Make one with New; nil is the default policy.
type Policy struct {
	c      Config
	runner attempt.Runner
	// mu guards c.Rand and the caps: the most attempts of an operation, 0 or less: no limit, and the longest delay of the
	// backoff; 0: no bound.
	mu          sync.Mutex
	maxAttempts int
	pauseMax    time.Duration
}

// New returns a policy, or an error that names the wrong setting, its value and the allowed ones.
func New(c Config) (*Policy, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("retry: %w", err)
	}
	p := &Policy{c: c, maxAttempts: c.MaxAttempts}
	p.runner = attempt.Runner{Policy: p, Guards: c.Guards, Classifier: c.Classifier, AttemptTimeout: c.AttemptTimeout}
	return p, nil
}

func (c Config) withDefaults() (Config, error) {
	c.Backoff = cmp.Or(c.Backoff, defaultBackoff)
	err := cmp.Or(
		backoff.Check(c.Backoff),
		check.Duration("MaxRetryAfter", &c.MaxRetryAfter, defaultMaxRetryAfter, time.Millisecond, 24*time.Hour),
		check.Optional("AttemptTimeout", c.AttemptTimeout),
	)
	if slices.Contains(c.Guards, nil) {
		err = cmp.Or(err, check.Nil("Guards"))
	}
	if c.MaxAttempts == 0 && !ends(c.Backoff) {
		c.MaxAttempts = defaultAttempts
	}
	c.Guards = slices.Clone(c.Guards)
	c.Rand = cmp.Or[backoff.Rand](c.Rand, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	return c, err
}

// ends reports whether the backoff ends, as with LastTry: no retry follows a million retries.
func ends(b backoff.Backoff) bool {
	s := backoff.State{Retry: 1_000_000, Last: backoff.MaxDelay}
	_, more := b.Delay(s, rand.New(rand.NewPCG(1, 1)))
	return !more
}

// standard is the policy that nil stands for.
var standard, _ = New(Config{}) // the defaults are right

func (p *Policy) orDefault() *Policy {
	if p == nil {
		return standard
	}
	return p
}

// Runner runs the policy's operations without a limiter, for integrations. Most callers want Do or Value. Copy it
// before you change it.
func (p *Policy) Runner() *attempt.Runner { return &p.orDefault().runner }

// Guards are the guards of Config.Guards.
func (p *Policy) Guards() []attempt.Guard { return p.orDefault().c.Guards }

// Decide implements attempt.Policy.
func (p *Policy) Decide(ctx context.Context, f attempt.Failure) attempt.Decision {
	p = p.orDefault()
	if ok, reason := p.may(ctx, f.Err, f.Verdict); !ok {
		return attempt.Decision{Reason: reason}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	own, obeyed, more := p.next(f.Attempt, f.Backoff, f.Last, quota.Asked{After: f.Verdict.Wait, Stop: f.Verdict.Meaning == answer.Stopped})
	if !more {
		return attempt.Decision{Reason: reason.ErrAttempts}
	}
	return attempt.Decision{Retry: true, Delay: own, RetryAfter: obeyed}
}

// next returns the delays before the next attempt, after that number of attempts: the backoff of the given number
// (0: no backoff is due), and the wait that the service asked for. last is the backoff before. It returns false if
// there is no next attempt.
func (p *Policy) next(attempts, number int, last time.Duration, asked quota.Asked) (own, obeyed time.Duration, more bool) {
	if p.maxAttempts > 0 && attempts >= p.maxAttempts { // more: it was lowered meanwhile
		return 0, 0, false
	}
	if number > 0 {
		if own, more = p.c.Backoff.Delay(backoff.State{Retry: number, Last: last}, p.c.Rand); !more {
			return 0, 0, false
		}
		if p.pauseMax > 0 && own > p.pauseMax {
			own = p.pauseMax - time.Duration(p.c.Rand.Float64()*float64(p.pauseMax/2))
		}
	}
	asked.Refusals = attempts
	return own, asked.Jittered(p.c.MaxRetryAfter, p.c.Rand), true
}

// SetCaps changes two settings while the policy works, also for operations under way. maxAttempts replaces
// Config.MaxAttempts: the most attempts of an operation, from 1, which means no retries; 0 brings Config.MaxAttempts
// back, negative means no limit. pauseMax is the longest delay of the backoff: 1 ms or more; 0 brings the backoff's
// own back. A longer delay becomes a random one from pauseMax/2 to pauseMax: "Jitter everything!" (Safe Client
// Behaviour.)
//
// If it returns an error, the old settings stay. A nil policy is shared by all, and cannot be changed.
func (p *Policy) SetCaps(maxAttempts int, pauseMax time.Duration) error {
	var err error
	switch {
	case p == nil:
		err = check.Wrong("SetCaps", "a change of the default policy", "a policy of New")
	case pauseMax != 0 && pauseMax < time.Millisecond:
		err = check.Wrong("pauseMax", pauseMax, "a duration from 1ms, or 0 for no cap")
	}
	if err != nil {
		return fmt.Errorf("retry: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.maxAttempts, p.pauseMax = cmp.Or(maxAttempts, p.c.MaxAttempts), pauseMax
	return nil
}

var (
	// ErrNotIdempotent: the error might pass, but the work may have been done, and is not idempotent.
	ErrNotIdempotent = errors.New("aimd: not known to be idempotent")
	// ErrOnce: the error might pass, but the work was sent, and may be sent once only (WithOnce).
	ErrOnce = errors.New("aimd: may be sent once only")
)

type (
	idempotentKey struct{}
	onceKey       struct{}
)

// WithIdempotent returns a context for work that may be done twice, with the same effect as once: reading, putting
// a value in a place, deleting. Adding to a list or charging a card is no such work.
func WithIdempotent(ctx context.Context) context.Context {
	return context.WithValue(ctx, idempotentKey{}, true)
}

// WithOnce returns a context for work that may be sent once only, because the service takes its nonce once. A
// second attempt would fail, and hide the reason of the first failure. A policy tries the work again only if it was
// certainly not sent, despite Config.Idempotent and WithIdempotent. Config.If decides before it, and a limiter
// without a policy does not ask. Work that makes a new nonce for each attempt does not need it.
func WithOnce(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, true)
}

// may reports whether the terms allow another attempt after the error, and if not, why.
func (p *Policy) may(ctx context.Context, err error, v verdict.Verdict) (bool, error) {
	if p.c.If != nil {
		return p.c.If(err), nil
	}
	once := ctx.Value(onceKey{}) != nil
	twice := p.c.Idempotent || ctx.Value(idempotentKey{}) != nil || v.Outcome() == window.Timeout && p.c.Timeouts
	if v.Retry() && twice && !once {
		return true, nil
	}
	unsent := verdict.NotSent(err)
	// To wait in line again may help, where a classifier knows no more than that there was no answer.
	full := unsent && (errors.Is(err, reason.ErrQueueFull) || errors.Is(err, context.DeadlineExceeded))
	switch {
	case !v.Retry() && !full:
		return false, nil
	case unsent:
		return true, nil
	case once:
		return false, ErrOnce
	}
	return false, ErrNotIdempotent
}

// Do runs fn, and again while the policy allows it. It returns nil once fn did, otherwise an
// *attempt.Error. A nil policy is the default policy.
//
// No attempt is made after ctx has ended. The context of fn has the attempt's number (attempt.Number),
// and the policy's attempt timeout, if there is one.
func Do(ctx context.Context, p *Policy, fn func(context.Context) error) error {
	return p.Runner().Do(ctx, fn)
}

// Value is Do for a function that returns a value. It returns the value of the attempt that succeeded;
// with an error, the zero value.
func Value[T any](ctx context.Context, p *Policy, fn func(context.Context) (T, error)) (T, error) {
	var value T
	err := p.Runner().Do(ctx, func(ctx context.Context) error {
		v, err := fn(ctx)
		if err == nil {
			value = v
		}
		return err
	})
	return value, err
}
