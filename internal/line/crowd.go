package line

import (
	"time"

	"github.com/aimd-go/aimd/queue"
)

// crowd is operations of one kind: the newest goes first while not all who wait can be served before they leave.
type crowd[T any] struct {
	queue queue.Queue[*Waiter[T]]
	// until is the end of the latest such time. span is the time that the late operation had by which it was found. A second one
	// came at from or later.
	until, span, from time.Duration
}

// crowd is the kind of an operation.
func (a *lane[T]) crowd(w *Waiter[T]) *crowd[T] {
	if w.Silent {
		return &a.silent
	}
	return &a.hasty
}

// Ended notes the end of an attempt of a lane.
func (l *Line[T]) Ended(urgent bool) {
	if a := l.lane(urgent); a.silent.queue.Len() > 0 {
		a.ended(false)
	}
}

// CutOff notes an attempt of a lane that its caller's deadline ended, after it had waited for most of its time, or with
// silent, that ended since its caller left.
func (l *Line[T]) CutOff(now time.Duration, urgent, silent bool) {
	a := l.lane(urgent)
	c := &a.hasty
	if silent {
		c = &a.silent
	}
	oldest, _ := c.queue.Ends()
	if oldest == nil || silent && !a.ended(true) || now < c.until+c.span {
		return
	}
	had := oldest.Value.had()
	if silent { // it has waited for as long
		had = now - oldest.Value.Since
	}
	c.found(now, now, had) // it came after the last crowd
}

// Leaving reports whether the silent ones of a lane are a crowd.
func (l *Line[T]) Leaving(now time.Duration, urgent bool) bool {
	return now < l.lane(urgent).silent.until
}

// ended notes the end of a silent operation's attempt or wait. It reports whether others will leave, too.
func (a *lane[T]) ended(left bool) bool {
	if a.left -= a.left / ends; left {
		a.left += 1. / ends
	}
	return a.left > leaving
}

// found begins a crowd: an operation that came after the last one is late, or its caller left. It had so much time.
func (c *crowd[T]) found(now, since, had time.Duration) {
	if since >= c.until {
		c.until, c.span = now+crowded*had, had
	}
}

// second reports whether a late operation is a second one, or soon after a crowd or the start. A law's look at half of its window
// makes some late, once: with a crowd at each look, workers in a loop, who all fit, would be told again and again.
func (c *crowd[T]) second(now time.Duration, w *Waiter[T]) bool {
	if w.Since >= c.from && now > max(c.from, c.until)+again*w.had() {
		c.from = now + w.had()/2
	}
	return w.Since >= c.from
}

func (c *crowd[T]) hasten(w *Waiter[T]) bool { return c.span == 0 || w.had() <= crowded*c.span }
