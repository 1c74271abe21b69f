package aimd

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/window"
)

// Rules are the settings that may change while a limiter is at work: see Reconfigure. The
// zero value of every field means the documented default.
type Rules struct {
	// MinWindow and MaxWindow bound the congestion window, in attempts: 1 <= MinWindow <= MaxWindow <=
	// window.MaxWindow. 0 means 1 and window.MaxWindow.
	MinWindow, MaxWindow float64
	// QueueBound is the most new operations that may wait; 0: no bound.
	QueueBound int
	// PauseMin and PauseMax bound the pauses that double while cut follows cut with no answer accepted in
	// between, and an operation's own backoff: 1 ms <= PauseMin <= PauseMax <= 1 h. 0 means 50 ms and 5 s; a
	// negative PauseMax turns both off.
	PauseMin, PauseMax time.Duration
	// MaxRetryAfter is the longest Retry-After, a longer one is cut to it: 1 ms to 24 h; 0 means 5 min.
	MaxRetryAfter time.Duration
	// QuotaReserve is the share of each quota of the service, 0 to 1, that is sent evenly up to the reset and not
	// at once. It needs reports: package httplimit, or attempt.Attempt.Head. 0 means a tenth, and only if
	// more operations wait than are left.
	QuotaReserve float64
	// MaxRate is the most attempts that all operations together send in a second, as a contract says: the limiter
	// leaves 1/MaxRate seconds between two sends. 0.0001 to 1000000; 0: no bound. If a timer is late, the sends
	// of at most 20 ms are made up for.
	MaxRate float64
	// MaxWait is the longest wait before an attempt. An operation that would wait for longer, by its backoff, a
	// Retry-After or a pause for all, ends with ErrWait at once; if it would wait for a quota that is used up, with
	// ErrQuota. The wait in the queue has no such bound. 0: no bound.
	MaxWait time.Duration
	// MaxAttempts is the most attempts for one operation of Do and Each; 0: no limit.
	MaxAttempts int
	// AttemptTimeout ends the context of one attempt of Do and Each, which is then a Timeout; 0: none.
	AttemptTimeout time.Duration
	// FirstContact is the time for which operations try to reach a service that has never answered, from the first
	// attempt that found no service: a refused connection, an unknown address. After it they fail with
	// ErrNeverAnswered until an attempt is answered. 0 means 10 s, negative: for ever.
	FirstContact time.Duration
}

// Config has the settings of a new Limiter. The zero value of every field means the documented default.
type Config struct {
	Rules

	// Law is the control law: [Probe], [Reno], [Tahoe], or one from elsewhere; nil: Probe.
	Law window.NewLaw
	// Name is the limiter's name in logs, in metrics and on the live page: any text; "": no name.
	Name string

	// InitialWindow is the window at the start, in attempts: MinWindow to MaxWindow; 0
	// means 20, or the nearest bound.
	InitialWindow float64
	// Rand is the source of jitter, used under the lock; nil: one with a random seed.
	Rand *rand.Rand
	// Clock is the source of time; nil: the real one.
	Clock clock.Clock
	// Observer is called for every event, after the lock is released, by the goroutine that caused the event;
	// it may call the limiter. Several goroutines may call it at once. It should be quick, and must not
	// panic. With an observer the limiter reads the clock at every event. Two
	// observers are one function that calls both. It may be nil.
	Observer func(Event)
	// Classifier says what an attempt's error means; nil: attempt.Classify.
	Classifier attempt.Classifier
	// Restore is a snapshot of an earlier limiter, to start from its window: Cwnd, Ssthresh, Pace and Trip. If it has
	// another Law, it counts for its Cwnd alone, as window and as threshold. One that is zero, or of more than an
	// hour ago, has no effect.
	Restore Snapshot
	// Policy decides which failed attempts of Do and Each are followed by another, and when; nil: as Do says.
	// If it has guards (a method Guards() []attempt.Guard), they are asked after the limiter's own.
	Policy attempt.Policy
	// Guards are asked before each attempt of Do, Each and integrations waits for a slot: a throttle, a retry
	// budget. A budget comes last, since it counts what is sent.
	Guards []attempt.Guard
}

// firstContact is long enough for a service that starts together with its client. Our choice.
const firstContact = 10 * time.Second

// checked returns c with defaults instead of zeros, but for the window at the start, and the settings of its gate.
func (c Config) checked() (Config, limiter.Settings, error) {
	err := cmp.Or(
		check.Optional("QueueBound", c.QueueBound),
		check.Optional("MaxAttempts", c.MaxAttempts),
		check.Optional("AttemptTimeout", c.AttemptTimeout),
		check.Optional("MaxWait", c.MaxWait),
	)
	if slices.Contains(c.Guards, nil) {
		err = cmp.Or(err, check.Nil("Guards"))
	}
	c.FirstContact = cmp.Or(c.FirstContact, firstContact)
	c.Clock = cmp.Or[clock.Clock](c.Clock, clock.New())
	if c.Law == nil {
		c.Law = Probe
	}
	c.Rand = cmp.Or(c.Rand, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	s, wrongGate := limiter.Settings{
		Window:   window.Settings{Initial: c.InitialWindow, Min: c.MinWindow, Max: c.MaxWindow},
		PauseMin: c.PauseMin, PauseMax: c.PauseMax, MaxRetryAfter: c.MaxRetryAfter,
		MaxRate: c.MaxRate, QuotaReserve: c.QuotaReserve, Rand: c.Rand,
	}.WithDefaults()
	if err = cmp.Or(err, wrongGate); err != nil {
		return c, s, wrong(err)
	}
	c.MinWindow, c.MaxWindow = s.Window.Min, s.Window.Max
	c.PauseMin, c.PauseMax, c.MaxRetryAfter = s.PauseMin, s.PauseMax, s.MaxRetryAfter
	return c, s, nil
}

// windowFields are the fields of window.Settings that have longer names in Config.
var windowFields = map[string]string{
	"law": "Law", "Min": "MinWindow", "Max": "MaxWindow", "Initial": "InitialWindow",
}

// wrong returns the error of a constructor. A setting has its name in Config there.
func wrong(err error) error {
	if e := new(setting.Error); errors.As(err, &e) && windowFields[e.Name] != "" {
		e.Name = windowFields[e.Name]
	}
	return fmt.Errorf("aimd: %w", err)
}

func (c Config) guards() []attempt.Guard {
	guards := slices.Clone(c.Guards)
	if p, ok := c.Policy.(interface{ Guards() []attempt.Guard }); ok {
		guards = append(guards, p.Guards()...)
	}
	return guards
}

// Reconfigure puts the limiter under new rules, made from those of a Snapshot: either all take effect or, with an
// error that names the wrong one, the old rules stay.
//
// Operations that wait and attempts in flight are kept, and cwnd within the new bounds. If a bound
// changed, a law that keeps state of its own starts with an empty state. A pause for all operations
// ends no later than the new rules allow; an operation that backs off on its own does so to the end. A new
// MaxAttempts also holds for operations under way, a new AttemptTimeout for later attempts.
func (l *Limiter) Reconfigure(r Rules) error {
	c := l.config
	c.Rules = r
	if c.InitialWindow != 0 { // of use to a law that is made anew, within the new bounds
		c.InitialWindow = min(max(c.InitialWindow, r.MinWindow), cmp.Or(r.MaxWindow, window.MaxWindow))
	}
	c, settings, err := c.checked()
	if err != nil {
		return err
	}
	// The law is the program's code, so it is not made under the lock.
	law := c.Law(settings.Window)
	now := l.now()
	l.mu.Lock()
	before := l.gate.State().Cwnd
	if err = l.gate.Reconfigured(now, func(window.Settings) window.Law { return law }, settings); err == nil {
		l.queue.Bound = c.QueueBound
		l.rules.Store(&c.Rules)
		l.note(now, Event{Kind: EventReconfigured, Before: before})
	}
	l.unlock(now)
	if err != nil {
		return wrong(err)
	}
	return nil
}
