package aimd

import (
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/window"
)

// Option is a setting of a limiter. A wrong value, zero among them, is an error
// of the constructor that names the setting, the value and what is allowed;
// leave the option out for the default.
type Option func(*limiter.Config) error

// WithName names the limiter in logs, metrics and on the live page: any text.
// Default: none.
func WithName(name string) Option {
	return func(c *limiter.Config) error {
		c.Name = name
		return nil
	}
}

// WithInitialWindow sets the window at the start, in attempts: from 1 to
// the maximum window. Default 20.
func WithInitialWindow(attempts float64) Option {
	return number("initial window", attempts, func(c *limiter.Config) *float64 { return &c.Window.Initial })
}

// WithInitialSsthresh sets the slow-start threshold at the start, in attempts,
// from 1. Default 1024.
func WithInitialSsthresh(attempts float64) Option {
	return number("initial ssthresh", attempts, func(c *limiter.Config) *float64 { return &c.Window.Ssthresh })
}

// WithFactor sets what a cut keeps of the window: greater than 0, less than 1.
// Default 0.5; 0.9 for a service whose limit is fairly stable. Refusals per success
// come to about 1/((1-factor) * limit^2), so 0.9 is very good from a limit of
// 16 on and noisy below 8.
func WithFactor(factor float64) Option {
	return func(c *limiter.Config) error {
		if !(factor > 0 && factor < 1) {
			return fmt.Errorf("decrease factor: %v is not allowed, want a number greater than 0 and less than 1", factor)
		}
		c.Window.Factor = factor
		return nil
	}
}

// WithMinWindow sets the least the window falls to, in attempts, from 1. Default 1.
func WithMinWindow(attempts float64) Option {
	return number("minimum window", attempts, func(c *limiter.Config) *float64 { return &c.Window.Min })
}

// WithMaxWindow sets the most the window grows to, in attempts. Default and
// most: 1048576.
func WithMaxWindow(attempts float64) Option {
	return number("maximum window", attempts, func(c *limiter.Config) *float64 { return &c.Window.Max })
}

// WithState starts from what a limiter learned earlier: its Limiter.State.
func WithState(s State) Option {
	return func(c *limiter.Config) error {
		c.Restore = &s
		return nil
	}
}

// WithQueueBound sets the most new operations that may wait, from 1; more get
// ErrQueueFull. Default: no bound.
func WithQueueBound(operations int) Option {
	return func(c *limiter.Config) error {
		if operations < 1 {
			return fmt.Errorf("queue bound: %d is not allowed, want a number from 1", operations)
		}
		c.QueueBound = operations
		return nil
	}
}

// WithMaxAttempts sets the most attempts for one operation of Do and Each, from
// 1. Default: no limit.
func WithMaxAttempts(attempts int) Option {
	return func(c *limiter.Config) error {
		if attempts < 1 {
			return fmt.Errorf("attempt limit: %d is not allowed, want a number from 1", attempts)
		}
		c.MaxAttempts = attempts
		return nil
	}
}

// WithAttemptTimeout ends each attempt of Do and Each after that time; it then
// counts as a timeout, and is tried again. Default: none. Set it if the
// service may fall silent: without it, silence says nothing.
func WithAttemptTimeout(d time.Duration) Option {
	return func(c *limiter.Config) error {
		if d <= 0 {
			return fmt.Errorf("attempt timeout: %v is not allowed, want a positive duration", d)
		}
		c.AttemptTimeout = d
		return nil
	}
}

// WithPause bounds the pauses that double while cut follows cut with no
// success in between, and an operation's own backoff: 1 ms <= shortest <=
// longest <= 1 h. Default 50 ms and 5 s.
func WithPause(shortest, longest time.Duration) Option {
	return func(c *limiter.Config) error {
		if shortest < time.Millisecond || longest < shortest || longest > time.Hour {
			return fmt.Errorf("pause: %v to %v is not allowed, want 1ms <= shortest <= longest <= 1h", shortest, longest)
		}
		c.PauseMin, c.PauseMax = shortest, longest
		return nil
	}
}

// WithoutPause turns these pauses off. A service that answers errors fast is
// then asked as fast as it answers; for measurements.
func WithoutPause() Option {
	return func(c *limiter.Config) error {
		c.PauseMax = -1
		return nil
	}
}

// WithMaxRetryAfter sets the longest Retry-After that is obeyed; longer ones
// count as this: 1 ms to 24 h. Default 5 min.
func WithMaxRetryAfter(d time.Duration) Option {
	return func(c *limiter.Config) error {
		if d < time.Millisecond || d > 24*time.Hour {
			return fmt.Errorf("longest Retry-After: %v is not allowed, want a duration from 1ms to 24h", d)
		}
		c.RetryAfterMax = d
		return nil
	}
}

// WithClassifier sets what tells what an attempt's error means. Default
// limiter.Classify; to add to it:
//
//	aimd.WithClassifier(limiter.FirstOf(mine, limiter.Classify))
func WithClassifier(classify limiter.Classifier) Option {
	return func(c *limiter.Config) error {
		if classify == nil {
			return fmt.Errorf("classifier: nil is not allowed")
		}
		c.Classifier = classify
		return nil
	}
}

// WithPolicy sets what decides which failed attempts of Do and Each are followed
// by another, and when: a retry.Policy. Default: what may help is tried
// again, see Limiter.Do.
func WithPolicy(p limiter.Policy) Option {
	return func(c *limiter.Config) error {
		if p == nil {
			return fmt.Errorf("policy: nil is not allowed")
		}
		c.Policy = p
		return nil
	}
}

// WithGuard adds a guard, which is asked before each attempt of Do and Each, and by
// the doors: a throttle.Throttle, a retry.Budget. Guards are asked in the order in
// which they were added. Add a budget last, since it counts what is sent.
// Default: none.
func WithGuard(g limiter.Guard) Option {
	return func(c *limiter.Config) error {
		if g == nil {
			return fmt.Errorf("guard: nil is not allowed")
		}
		c.Guards = append(c.Guards, g)
		return nil
	}
}

// WithObserver sets a function that is told of every event, after the
// limiter's lock is released, by the goroutine that caused it. It must be safe
// for several goroutines, and should be quick. Default: none.
func WithObserver(observe func(Event)) Option {
	return func(c *limiter.Config) error {
		if observe == nil {
			return fmt.Errorf("observer: nil is not allowed")
		}
		c.Observer = observe
		return nil
	}
}

// WithClock sets the source of time, for tests. Default: the real one.
func WithClock(source clock.Clock) Option {
	return func(c *limiter.Config) error {
		if source == nil {
			return fmt.Errorf("clock: nil is not allowed")
		}
		c.Clock = source
		return nil
	}
}

// number is an option that sets a number of attempts. The settings as a whole
// are checked where they are used; zero is refused here, since there it stands for
// the default.
func number(setting string, v float64, field func(*limiter.Config) *float64) Option {
	return func(c *limiter.Config) error {
		if v == 0 {
			return window.CheckRange(setting, v, window.MinWindow, window.MaxWindow)
		}
		*field(c) = v
		return nil
	}
}
