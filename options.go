package aimd

import (
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

// Option is a setting of a limiter: one field of [Config]. Its zero value is the default. A wrong
// value is an error of the constructor, a [SettingError].
type Option func(*settings)

type settings struct {
	Config
	law window.NewLaw
}

// WithLaw sets the control law: [Probe], [Reno], [Tahoe], or one from elsewhere. Default: Probe.
func WithLaw(law window.NewLaw) Option {
	return func(s *settings) { s.law = law }
}

// WithName names the limiter in logs, metrics and on the live page: any text. Default: no name.
func WithName(name string) Option {
	return func(s *settings) { s.Name = name }
}

// WithInitialWindow sets the window at the start, in attempts: from 1 to the maximum window. Default 20.
func WithInitialWindow(attempts float64) Option {
	return func(s *settings) { s.InitialWindow = attempts }
}

// WithInitialSsthresh sets the slow-start threshold at the start, in attempts, from 1. Default 1024, and none for
// [Probe].
func WithInitialSsthresh(attempts float64) Option {
	return func(s *settings) { s.InitialSsthresh = attempts }
}

// WithFactor sets the part of the window that a cut keeps, for [NewReno], [NewTahoe] and laws of WithLaw that
// have a factor; with Probe it is an error. Greater than 0, less than 1. Default 0.5; 0.9 is for a limit from
// 16 on that is fairly stable.
func WithFactor(factor float64) Option {
	return func(s *settings) { s.Factor = factor }
}

// WithMinWindow sets the least the window falls to, in attempts, from 1. Default 1.
func WithMinWindow(attempts float64) Option {
	return func(s *settings) { s.MinWindow = attempts }
}

// WithMaxWindow sets the most the window grows to, in attempts. Default and most: 1048576.
func WithMaxWindow(attempts float64) Option {
	return func(s *settings) { s.MaxWindow = attempts }
}

// WithMaxRate sets the most attempts that all operations of the limiter together send in a second, evenly
// spaced: for a service whose contract names a rate, or that blocks clients that exceed one. 0.0001 to 1000000.
// Default: no bound.
func WithMaxRate(perSecond float64) Option {
	return func(s *settings) { s.MaxRate = perSecond }
}

// WithState starts from the Limiter.State of an earlier limiter, if that is not older than an hour.
func WithState(state State) Option {
	return func(s *settings) { s.Restore = state }
}

// WithQueueBound sets the most new operations that may wait; more get attempt.ErrQueueFull. Default: no
// bound.
func WithQueueBound(operations int) Option {
	return func(s *settings) { s.QueueBound = operations }
}

// WithMaxAttempts sets the most attempts for one operation of Do and Each. Default: no limit.
func WithMaxAttempts(attempts int) Option {
	return func(s *settings) { s.MaxAttempts = attempts }
}

// WithAttemptTimeout ends each attempt of Do and Each after that time; it then counts as a timeout, and is
// tried again. Default: no timeout, so an attempt waits for ever if the service falls silent.
func WithAttemptTimeout(d time.Duration) Option {
	return func(s *settings) { s.AttemptTimeout = d }
}

// WithFirstContact sets how long operations try to reach a service that has never answered; see
// Rules.FirstContact. Default 10 s, negative: for ever.
func WithFirstContact(d time.Duration) Option {
	return func(s *settings) { s.FirstContact = d }
}

// WithPause bounds the pauses after cuts in a row, and an operation's own backoff: 1 ms <= shortest <=
// longest <= 1 h. Default 50 ms and 5 s. A negative longest turns both off, for measurements.
func WithPause(shortest, longest time.Duration) Option {
	return func(s *settings) { s.PauseMin, s.PauseMax = shortest, longest }
}

// WithReserve sets the share of each quota that is sent evenly up to the reset and not at once, such as 0.5
// for an account that others share. It needs package httplimit. Default: a tenth, if more operations wait
// than are left.
func WithReserve(share float64) Option {
	return func(s *settings) { s.Reserve = share }
}

// WithMaxRetryAfter sets the longest Retry-After that is obeyed: 1 ms to 24 h. Default 5 min.
func WithMaxRetryAfter(d time.Duration) Option {
	return func(s *settings) { s.MaxRetryAfter = d }
}

// WithGiveUpAfter sets the longest wait before an attempt: if the service asks for more, or a pause for all
// lasts for longer, the operation ends at once, with attempt.ErrQuota. Default: no bound.
func WithGiveUpAfter(d time.Duration) Option {
	return func(s *settings) { s.GiveUpAfter = d }
}

// WithClassifier sets the function that says what an attempt's error means. Default attempt.Classify; to add
// to it: attempt.FirstOf(mine, attempt.Classify).
func WithClassifier(classify attempt.Classifier) Option {
	return func(s *settings) { s.Classifier = classify }
}

// WithPolicy sets the policy that decides which failed attempts of Do and Each are followed
// by another, and when: a retry.Policy. Default: see Limiter.Do.
func WithPolicy(p attempt.Policy) Option {
	return func(s *settings) { s.Policy = p }
}

// WithGuard adds a guard, which is asked before each attempt: a throttle.Throttle, a retry.Budget. Guards are
// asked in the order of the options. Add a budget last, since it counts what is sent.
func WithGuard(g attempt.Guard) Option {
	return func(s *settings) { s.Guards = append(s.Guards, g) }
}

// WithObserver adds a function that is called for every event, see Config.Observer. Observers are
// called in the order of the options; nil is ignored. Default: no observer.
func WithObserver(observe func(Event)) Option {
	return func(s *settings) {
		switch before := s.Observer; {
		case observe == nil:
		case before == nil:
			s.Observer = observe
		default:
			s.Observer = func(e Event) { before(e); observe(e) }
		}
	}
}
