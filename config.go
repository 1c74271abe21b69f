package aimd

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// Config has the settings of a Limiter. The zero value of every field means the documented default. Reconfigure changes
// settings of a limiter at work; the comment of a field says if it cannot change.
type Config struct {
	// Law is the control law: [Probe], [Reno], [Tahoe], or a law of your own; nil: Probe. It cannot change.
	Law window.NewLaw
	// Name is the limiter's name in logs, in metrics and on the live page: any text; "": no name. It
	// cannot change.
	Name string

	// InitialWindow is the window at the start, in attempts: MinWindow to MaxWindow; 0
	// means 20, or the nearest bound. It cannot change.
	InitialWindow float64
	// Rand is the source of jitter, used under the lock; nil: one with a random seed. Two limiters must not share a
	// Rand. It cannot change.
	Rand *rand.Rand
	// Observer is called for every event, after the lock is released, by the goroutine that caused the event; it
	// may call the limiter. Several goroutines may call it at once. It should be quick, and must not panic. With an
	// observer the limiter reads the clock at every event. For two observers, set a function that calls both. It
	// may be nil. It cannot change.
	Observer func(Event)
	// Classifier reads an attempt's error; nil: verdict.Classify. It cannot change.
	Classifier verdict.Classifier
	// Policy decides which failed attempts of Do and Each are followed by another, and when; nil: as Do says.
	// If it has guards (a method Guards() []attempt.Guard), they are asked after the limiter's own. It cannot
	// change.
	Policy attempt.Policy
	// Guards are asked before each attempt of Do, Each and integrations waits for a slot: a throttle, a retry
	// budget. A budget comes last, since it counts the attempts that are sent. They cannot change.
	Guards []attempt.Guard

	// MinWindow and MaxWindow bound the congestion window, in attempts: 1 <= MinWindow <= MaxWindow <=
	// window.MaxWindow. 0 means 1 and window.MaxWindow.
	MinWindow, MaxWindow float64
	// Peers is the number of processes that share the service, this one included; an estimate will do. The law of New then starts
	// with a share of the window, and grows by a share. 0 means 1; up to a million. Package share knows the number.
	Peers int
	// QueueBound is the greatest number of new operations that wait; 0: no bound.
	QueueBound int
	// PauseMin and PauseMax are the first and the longest pause after cuts in a row, and the same of an operation's
	// backoff. Both double until an answer is accepted. 1 ms <= PauseMin <= PauseMax <= 1 h. 0 means 50 ms and 5 s; a
	// negative PauseMax turns both off.
	PauseMin, PauseMax time.Duration
	// MaxRetryAfter bounds all that a service says of a time: a longer Retry-After, reset or stop for all counts as this
	// time. After it one operation asks again. 1 ms to 24 h; 0 means 5 min.
	MaxRetryAfter time.Duration
	// QuotaReserve is the share of each quota of the service, 0 to 1, that is sent evenly up to the reset and not
	// at once. It needs reports: package httplimit, or attempt.Attempt.Head. 0: a tenth while more operations wait than
	// the quota has left, otherwise nothing.
	QuotaReserve float64
	// MaxRate is the greatest number of attempts of all operations in a second, as a contract says: the limiter
	// leaves 1/MaxRate seconds between two sends. 0.0001 to 1000000; 0: no bound. If a timer is late, the sends of
	// up to 20 ms follow at once.
	MaxRate float64
	// MaxAmountRate is the greatest amount of all operations in a second, as a contract says: tokens, bytes. After the
	// send of an operation the limiter leaves the longer of 1/MaxRate and amount/MaxAmountRate seconds. WithAmount says
	// the amount; otherwise it is 1. 0.0001 to 1e12; 0: no bound.
	MaxAmountRate float64
	// MaxWait is the longest wait before an attempt. If a backoff, a Retry-After or a pause for all is longer, the
	// operation ends at once with ErrWait. The jitter of a Retry-After, up to a second, counts. If the wait for a used
	// quota is longer, it ends with ErrQuota. The wait in the queue has no such bound. 0: no bound.
	MaxWait time.Duration
	// MaxAttempts is the greatest number of attempts of an operation of Do and Each; 0: no limit.
	MaxAttempts int
	// MaxFailures is the greatest number of failures of an operation that fails while the service takes others: 500, 502 and
	// broken connections, and time-outs if at most one operation in eight fails; never refusals, and not in an outage. Then it
	// ends with ErrOwnFault. The first of them does not count. 0: as many as chance would not bring, seven if at most one
	// operation in eight fails, or 13 time-outs, and not in the first 30 s; in Each and Map not before MaxRetryAfter, since
	// nobody waits. So while a twentieth of the keys is down for two minutes, a pool of 64 gives up a fortieth of 40 000
	// items at 500s, and a sixtieth at time-outs, which the caller may begin again. Negative: no limit.
	MaxFailures int
	// AttemptTimeout ends the context of one attempt of Do and Each, which is then a Timeout; 0: no timeout.
	AttemptTimeout time.Duration
	// Shadow lets every operation go at once, as without a limiter: nothing waits, is paused or is refused. The law runs
	// on what happens, and Snapshot.Shadow, the log, the metrics and the page say what would have been held. So you can
	// look at a limiter before you use it, and Reconfigure turns it into one, whose window begins anew. Its numbers are of
	// traffic that nobody holds: no forecast of times. Operations of Do that failed are tried again, with a backoff from
	// the first failure on. Each and Map need a MaxWindow with it, which bounds their items: otherwise all would begin at
	// once. A service cannot set it (package remote).
	Shadow bool
	// FirstContact is the time for which operations try to reach a service that has never answered. It begins with
	// the first attempt that found no service: a refused connection, an unknown address. Then operations fail with
	// ErrNeverAnswered until an attempt is answered. 0 means 10 s, negative: for ever.
	FirstContact time.Duration
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
	if c.Law == nil {
		c.Law = Probe()
	}
	c.Rand = cmp.Or(c.Rand, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	s, wrongGate := limiter.Settings{
		Window:   window.Settings{Initial: c.InitialWindow, Min: c.MinWindow, Max: c.MaxWindow, Peers: c.Peers},
		PauseMin: c.PauseMin, PauseMax: c.PauseMax, MaxRetryAfter: c.MaxRetryAfter,
		MaxRate: c.MaxRate, MaxAmountRate: c.MaxAmountRate, QuotaReserve: c.QuotaReserve, MaxFailures: c.MaxFailures, Shadow: c.Shadow,
		Rand: c.Rand,
	}.WithDefaults()
	if err = cmp.Or(err, wrongGate); err != nil {
		return c, s, err
	}
	c.MinWindow, c.MaxWindow, c.Peers = s.Window.Min, s.Window.Max, s.Window.Peers
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

// tunable is c without the settings that cannot change.
func (c Config) tunable() Config {
	c.Law, c.Name, c.InitialWindow, c.Rand = nil, "", 0, nil
	c.Observer, c.Classifier, c.Policy, c.Guards = nil, nil, nil, nil
	return c
}

// fixed is the name of the first setting that cannot change and is not zero, or "".
func (c Config) fixed() string {
	for _, f := range [...]struct {
		name string
		set  bool
	}{
		{"Law", c.Law != nil}, {"Name", c.Name != ""}, {"InitialWindow", c.InitialWindow != 0}, {"Rand", c.Rand != nil},
		{"Observer", c.Observer != nil}, {"Classifier", c.Classifier != nil},
		{"Policy", c.Policy != nil}, {"Guards", len(c.Guards) > 0},
	} {
		if f.set {
			return f.name
		}
	}
	return ""
}

// Reconfigure changes settings of a limiter at work. change gets the settings in force (Snapshot.Config), so a
// field that it does not set stays; a zero means the default again. Either all changes take effect, or no change
// does and the error names the wrong setting.
//
//	err := lim.Reconfigure(func(c *aimd.Config) { c.MaxWindow = 64 })
//
// Law, Name, InitialWindow, Rand, Observer, Classifier, Policy and Guards cannot change. They are zero for change; if it
// sets such a field, the error names the field.
//
// Waiting operations and attempts in flight stay, and cwnd within the new bounds. If a bound changed, the law
// starts with an empty state. A pause for all operations ends no later than the new settings allow. If it lasts for
// longer than a new MaxWait, the operations that wait for it end with ErrWait. The backoff of an operation does not
// change. A new MaxAttempts also holds for operations under way, a new AttemptTimeout for later attempts.
//
// Two calls at once take effect one after the other: the second gets the settings of the first. change is called
// once, without the lock: it may call the limiter, except for Reconfigure.
func (l *Limiter) Reconfigure(change func(*Config)) error {
	if change == nil {
		return wrong(check.Nil("change"))
	}
	now, err := l.reconfigure(change)
	if err != nil {
		return wrong(err)
	}
	l.unlock(now) // an observer may call Reconfigure
	return nil
}

// reconfigure is Reconfigure up to the end of the event: without an error it returns with the lock.
func (l *Limiter) reconfigure(change func(*Config)) (time.Duration, error) {
	l.ready().changing.Lock()
	defer l.changing.Unlock()
	present := *l.settings.Load()
	c := present
	change(&c)
	if name := c.fixed(); name != "" {
		return 0, check.Wrong(name, "a change", "the one of New")
	}
	if c.PauseMin == present.PauseMin {
		c.PauseMin = l.pauseMin
	}
	pauseMin := c.PauseMin
	if initial := l.config.InitialWindow; initial != 0 { // of use to a law that is made anew, within the new bounds
		c.InitialWindow = min(max(initial, c.MinWindow), cmp.Or(c.MaxWindow, window.MaxWindow))
	}
	c, settings, err := c.checked()
	if err != nil {
		return 0, err
	}
	c = c.tunable()
	// The law is the program's code, so it is not made under the lock.
	law := l.config.Law(settings.Window)
	now := l.now()
	l.lock()
	before := l.gate.State().Cwnd
	if err = l.gate.Reconfigured(now, func(window.Settings) window.Law { return law }, settings); err != nil {
		l.mu.Unlock()
		return 0, err
	}
	l.line.Bound, l.pauseMin = c.QueueBound, pauseMin
	l.settings.Store(&c)
	l.note(now, Event{Kind: event.Reconfigured, Before: before})
	l.dismiss(now)
	return now, nil
}
