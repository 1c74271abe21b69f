package limiter

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/core"
	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/window"
)

// Config is what a Limiter is made from. The zero value of every field means the
// documented default.
type Config struct {
	// These are the rules by which it decides.

	// Window is where the window starts and how far it may go.
	Window window.Settings
	// QueueBound is the most new operations that may wait; 0: no bound.
	QueueBound int
	// PauseMin and PauseMax bound the pauses that double while cut follows cut
	// with nothing accepted in between, and an operation's own backoff:
	// 1 ms <= PauseMin <= PauseMax <= 1 h. 0 means 50 ms and 5 s; a negative PauseMax
	// turns both off.
	PauseMin, PauseMax time.Duration
	// Patience is how many overloads in a row an operation takes before it
	// backs off by itself, and how many cuts in a row it takes until a Retry-After
	// pauses everybody (never less than two): 1 or more; 0 means 5.
	Patience int
	// RetryAfterMax is the longest Retry-After that is obeyed, longer ones
	// count as this: 1 ms to 24 h; 0 means 5 min.
	RetryAfterMax time.Duration
	// Rand is the source of jitter, used under the lock; nil: one with a random seed.
	Rand *rand.Rand

	// These are what else it needs.

	// Name tells limiters apart in logs, metrics and on the live page; "": none. Any
	// text will do. Nothing else depends on it.
	Name string
	// Clock is the source of time; nil: the real one.
	Clock clock.Clock
	// Observer is called for every event, after the lock is released, by the
	// goroutine that caused it: the limiter is then already as the event says,
	// and calls back into it are fine. Several goroutines may call it at once.
	// It should be quick, and must not panic: it is called on whatever goroutine
	// released a permit, ran out of time or fired a timer. With an observer the
	// limiter reads the clock at every event. nil: none.
	Observer func(Event)
	// Classifier tells what an attempt's error means; nil: attempt.Classify.
	Classifier attempt.Classifier
	// MaxAttempts is the most attempts for one operation of Do and Each; 0: no
	// limit, they go on until success, a final error, or the context ends.
	MaxAttempts int
	// AttemptTimeout ends the context of a single attempt of Do and Each; an
	// attempt that ends by it counts as Timeout. 0: none.
	AttemptTimeout time.Duration
	// FirstContact is how long operations try to reach a service of which the limiter
	// had no answer yet, from the first attempt for which nobody was there: a refused
	// connection, an address that does not exist, one that hangs up at once. Then they fail with
	// attempt.ErrNoContact, as does each later one at its first such attempt, until
	// somebody answers. Once somebody has, work waits for a service that goes away. 0
	// means 10 s, negative: for ever.
	FirstContact time.Duration
	// Restore is a state learned earlier, to start from; the zero State, and one that is
	// older than RestoreAge: none.
	Restore State
	// StateFile is a file that keeps the state over restarts: New starts from it, if it
	// holds one that is not too old, else from Restore; Close and Drain write it. Of its
	// errors Drain tells; a file that New cannot make sense of is as if it were not there.
	// "": none.
	StateFile string
	// RestoreAge is how old a state may be to be of use; 0 means 1 h, negative: of any
	// age. A state that does not say when it was has no age.
	RestoreAge time.Duration
	// Policy decides which failed attempts of Do and Each are followed by
	// another, and when; nil: as Do says. If it brings guards along (Guards()
	// []attempt.Guard), they come after the limiter's own.
	Policy attempt.Policy
	// Guards are asked before each attempt of Do and Each, and by integrations:
	// a throttle, a retry budget. A budget comes last, since it counts what is sent.
	Guards []attempt.Guard
}

// firstContact is long enough for a service that starts together with its client, and
// short enough for somebody that waits for the word that the port is wrong. Our choice.
const firstContact = 10 * time.Second

func (c Config) withDefaults() (Config, error) {
	if err := setting.Optional("attempt limit", c.MaxAttempts); err != nil {
		return c, err
	}
	if err := setting.Optional("attempt timeout", c.AttemptTimeout); err != nil {
		return c, err
	}
	if c.FirstContact == 0 {
		c.FirstContact = firstContact
	}
	if c.RestoreAge == 0 {
		c.RestoreAge = restoreAge
	}
	if slices.Contains(c.Guards, nil) {
		return c, setting.Nil("guard")
	}
	if c.Clock == nil {
		c.Clock = clock.New()
	}
	if c.Classifier == nil {
		c.Classifier = attempt.Classify
	}
	if c.Rand == nil {
		c.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	if c.Observer != nil {
		c.Window.Timed = true
	}
	r, err := c.rules().WithDefaults()
	c.Window, c.QueueBound, c.PauseMin, c.PauseMax = r.Window, r.QueueBound, r.PauseMin, r.PauseMax
	c.Patience, c.RetryAfterMax = r.Patience, r.RetryAfterMax
	return c, err
}

// rules are those of the core.
func (c Config) rules() core.Settings {
	return core.Settings{
		Window: c.Window, QueueBound: c.QueueBound, PauseMin: c.PauseMin, PauseMax: c.PauseMax,
		Patience: c.Patience, RetryAfterMax: c.RetryAfterMax, Rand: c.Rand,
	}
}

// guards are those of the limiter, and then those that its policy brings along.
func (c Config) guards() []attempt.Guard {
	guards := slices.Clone(c.Guards)
	if p, ok := c.Policy.(interface{ Guards() []attempt.Guard }); ok {
		guards = append(guards, p.Guards()...)
	}
	return guards
}
