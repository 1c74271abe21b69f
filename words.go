package aimd

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/window"
)

// String returns the event and its reason in words for people: "cut: first refusal of a burst, 32 -> 29".
func (e Event) String() string {
	if e.Shadow {
		e.Shadow = false
		return "shadow: " + e.String()
	}
	if why := reasons[e.Cause]; why != "" {
		return e.verb() + ": " + e.Cause + ", " + why + ", " + e.moved()
	}
	switch e.Kind {
	case event.Cut:
		return "cut: first " + e.refusal() + " of a burst, " + e.moved()
	case event.Paused:
		if e.MaxRetryAfter > 0 {
			return fmt.Sprintf("paused %s: the service asked for %v, cut to %v by MaxRetryAfter", roughly(e.Wait), e.RetryAfter, e.MaxRetryAfter)
		}
		if e.RetryAfter > 0 {
			return fmt.Sprintf("paused %s: the service asked for %s", roughly(e.Wait), roughly(e.RetryAfter))
		}
		return "paused " + roughly(e.Wait) + ": refused again, and nothing accepted in between"
	case event.Reconfigured:
		return "reconfigured: new settings, " + e.moved()
	case event.Closed:
		return "closed: takes no more work"
	case event.Answered:
		return e.answered()
	case event.Admitted:
		return "admitted: waited " + roughly(e.Wait)
	case event.Late:
		return "late: a permit was released a second time"
	case event.Full:
		return fmt.Sprintf("full: turned away, %d wait already", e.Queued)
	case event.TooLate:
		return fmt.Sprintf("too late: %d operations were not sent before their deadline, the last: %v", e.Count, e.Err)
	case event.Aside:
		return e.aside()
	case event.Unknown:
		return fmt.Sprint("unknown: an error that no classifier knows, beside refusals: ", e.Err)
	case event.Held:
		return fmt.Sprintf("held: %d attempts would have waited, %s in the mean, and went at once", e.Count, roughly(e.Wait))
	case event.Open:
		return fmt.Sprintf("open: %d answers are open, and nothing ended for %s: are their bodies closed?", e.Count, roughly(e.Wait))
	case event.Away:
		return fmt.Sprint("away: the service is not there: ", e.Err)
	case event.UsedUp:
		return fmt.Sprintf("used up: the service has %s of %s %s left, the next go in %s",
			number(e.Quota.Left), number(e.Quota.Limit), e.Quota.Name, roughly(e.Wait))
	case event.Share:
		if e.Err != nil {
			return fmt.Sprintf("share: %s, of %d processes: %v", e.Cause, e.Count, e.Err)
		}
		return fmt.Sprintf("share: %s, of %d processes", e.Cause, e.Count)
	case event.Blocked:
		return fmt.Sprint("blocked: answers of 403 in a row after successes, taken for a block by a firewall: ", e.Err)
	}
	return string(cmp.Or(e.Kind, "none"))
}

// reasons are the causes of Probe in a few words, without the causes load and more.
var reasons = map[string]string{
	"chance": "too few refusals to mean load", "own": "a share is refused without load", "outage": "all is refused",
	"back": "the service is back after a silence", "used up": "a limit was used up and is refilled", "slow": "growth gained nothing", above: "more than the window were in flight",
}

func (e Event) aside() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("set aside: %d failed again while others succeeded, the last: %v", e.Count, e.Err)
	case e.Wait > 0:
		return fmt.Sprintf("set aside: all %d left have failed, and are tried again until they are given up in about %s", e.Count, roughly(e.Wait))
	}
	return fmt.Sprintf("set aside: all %d left have failed, and are tried again until they succeed", e.Count)
}

func (e Event) verb() string {
	switch {
	case e.Outcome.Overloaded() && e.narrowed():
		return "cut"
	case e.narrowed():
		return "shrank"
	case e.Window.Cwnd > e.Before:
		return "grew"
	}
	return "kept"
}

func (e Event) answered() string {
	switch {
	case e.Outcome.Overloaded() && e.narrowed():
		return "cut: more " + e.refusal() + "s of the burst, " + e.moved()
	case e.Outcome.Overloaded():
		return "ignored: " + e.refusal() + " of a burst that was answered already"
	case e.narrowed():
		return "shrank: answers got slower, " + e.moved()
	case e.Window.Cwnd > e.Before:
		return "grew: " + e.moved()
	}
	return "steady: " + e.Outcome.String() + ", the window stays " + number(e.Window.Cwnd)
}

func (e Event) refusal() string {
	if e.Outcome == window.Timeout {
		return "timeout"
	}
	return "refusal"
}

func (e Event) moved() string {
	before, after := e.windows()
	if before != after {
		return before + " -> " + after
	}
	return "the window stays " + after
}

// windows are the windows before and after the event: "2", or "1 every 400ms" by the gap.
func (e Event) windows() (before, after string) {
	size := func(cwnd float64, gap time.Duration) string {
		if gap == 0 || cwnd > window.MinWindow {
			return number(cwnd)
		}
		return "1 every " + roughly(gap)
	}
	return size(e.Before, e.GapBefore), size(e.Window.Cwnd, e.Gap)
}

// number is a window with one digit after the point, if that is not 0; below 1 with two digits that matter.
func number(w float64) string {
	if w < 1 {
		return strconv.FormatFloat(w, 'g', 2, 64)
	}
	return strconv.FormatFloat(float64(int64(w*10+0.5))/10, 'f', -1, 64)
}

// roughly is a time with the digits that matter.
func roughly(d time.Duration) string {
	for _, unit := range []time.Duration{time.Second, 100 * time.Millisecond, time.Millisecond} {
		if d >= 10*unit || d >= unit && unit == time.Millisecond {
			return d.Round(unit).String()
		}
	}
	return d.String()
}
