package limiter

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aimd-go/aimd/window"
)

// String says what happened and why, in words for people:
// "cut: first refusal of a burst, 32 -> 29".
func (e Event) String() string {
	switch e.Kind {
	case Cut:
		return "cut: first " + e.refusal() + " of a burst, " + e.moved()
	case Shrank:
		return "shrank: answers got slower, " + e.moved()
	case Paused:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("paused %s: the service asked for %s", roughly(e.Wait), roughly(e.RetryAfter))
		}
		return "paused " + roughly(e.Wait) + ": refused again, and nothing accepted in between"
	case Reconfigured:
		return "reconfigured: new settings, " + e.moved()
	case Closed:
		return "closed: takes no more work"
	case Grew:
		return "grew: " + e.moved()
	case Ignored:
		if e.deeper() {
			return "cut: more " + e.refusal() + "s of the burst, " + e.moved()
		}
		return "ignored: " + e.refusal() + " of a burst that was answered already"
	case Steady:
		return "steady: " + e.Outcome.String() + ", the window stays " + number(e.Window.Cwnd)
	case Admitted:
		return "admitted: waited " + roughly(e.Wait)
	case Late:
		return "late: a permit was released a second time"
	case Away:
		return "away: the service is not there: " + because(e.Err)
	case Suspect:
		return "suspect: final, though it looks like a refusal: " + because(e.Err)
	case Full:
		return fmt.Sprintf("full: turned away, %d wait already", e.Queued)
	}
	return e.Kind.String()
}

// refusal is what the service did, or did not do in time.
func (e Event) refusal() string {
	if e.Outcome == window.Timeout {
		return "timeout"
	}
	return "refusal"
}

// because is the error's text.
func because(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// moved is the window before and after.
func (e Event) moved() string {
	before, after := number(e.Before), number(e.Window.Cwnd)
	if before == after {
		return "the window stays " + after
	}
	return before + " -> " + after
}

// number is a window with one digit after the point, where that is not 0.
func number(w float64) string {
	return strconv.FormatFloat(float64(int64(w*10+0.5))/10, 'f', -1, 64)
}

// roughly is a time with the digits that matter.
func roughly(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(time.Millisecond).String()
	}
	return d.String()
}
