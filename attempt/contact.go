package attempt

import (
	"errors"
	"net"
	"regexp"
	"syscall"
	"time"

	"github.com/aimd-go/aimd/window"
)

// noted tells the limiter what the end of the attempt says beside the verdict, and
// returns the verdict in the light of that.
func (a *Attempt) noted(v Verdict, err error) Verdict {
	switch {
	case a.runner.Slots == nil, a.heard:
	case err == nil:
		a.contact(true, nil)
	case absent(err), a.hungUp(v, err):
		if a.over() != nil {
			return v // the caller has gone
		}
		if made, reason := a.contact(false, err); !made {
			// Of a service that was never there nothing is known of its load.
			v.Outcome, v.Reason = window.Neutral, reason
			v.Retry = v.Retry && reason == nil
		} else {
			v.Retry = v.Retry || forgotten(err)
		}
	case !unanswered(err) && !ofContext(err):
		a.contact(true, nil)
	}
	a.suspect(v, err)
	return v
}

// suspect tells the limiter of an error that the classifier may not know.
func (a *Attempt) suspect(v Verdict, err error) {
	if err != nil && a.runner.Slots != nil && v == (Verdict{Outcome: window.Neutral}) && a.over() == nil && refusal.MatchString(err.Error()) {
		a.runner.Slots.Suspect(err)
	}
}

// contact tells the limiter.
func (a *Attempt) contact(answered bool, err error) (made bool, reason error) {
	if a.runner.Slots == nil {
		return true, nil
	}
	return a.runner.Slots.Contact(answered, err)
}

// absent reports whether the error tells that nobody was there to answer.
func absent(err error) bool {
	var op *net.OpError
	var name *net.DNSError
	return errors.As(err, &name) || errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect") ||
		errors.Is(err, syscall.ECONNREFUSED) || unreachable(err) || grpcAbsent(err)
}

// brief is how soon a connection ends of which the other side wants nothing. Our choice:
// some round trips, less than an upload takes that a poor network breaks off.
const brief = time.Second

// hungUp reports whether a service that never answered hung up at once: whoever
// listens for another, a proxy or a tunnel with nothing behind it, or with no TLS.
func (a *Attempt) hungUp(v Verdict, err error) bool {
	return !a.began.IsZero() && v.Outcome == window.Neutral && v.Retry && unanswered(err) && !unsent(err) &&
		a.runner.clock().Since(a.began) < brief
}

// forgotten reports whether the service's name is not known: of one that was there
// that is an outage, of names or of our network.
func forgotten(err error) bool {
	var name *net.DNSError
	return errors.As(err, &name) && name.IsNotFound
}

// refusal is how the text of a refusal looks.
var refusal = regexp.MustCompile(`(?i)\b429\b|rate.?limit|throttl|too many requests`)
