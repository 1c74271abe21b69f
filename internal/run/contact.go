package run

import (
	"regexp"
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/fact"
	"github.com/aimd-go/aimd/window"
)

// noted updates the first contact after the end of the attempt, and returns the verdict.
func (a *Attempt) noted(v attempt.Verdict, f fact.Facts, err error) attempt.Verdict {
	s := a.runner.Slots
	switch {
	case s == nil, a.heard:
	case err == nil:
		s.Contact(true, nil)
	case f.Unreached, a.hungUp(v, f):
		if a.over() != nil {
			return v // the caller has gone
		}
		if made, reason := s.Contact(false, err); !made {
			// The load of a service that was never there is unknown.
			v.Outcome, v.Reason = window.Neutral, reason
			v.Retry = v.Retry && reason == nil
		}
	case !f.Unanswered && !f.OfContext:
		s.Contact(true, nil)
	}
	a.suspect(v, err)
	return v
}

func (a *Attempt) suspect(v attempt.Verdict, err error) {
	if s := a.runner.Slots; err != nil && s != nil && v == (attempt.Verdict{Outcome: window.Neutral}) && a.over() == nil && refusal.MatchString(err.Error()) {
		s.Suspect(err)
	}
}

var refusal = regexp.MustCompile(`(?i)\b429\b|rate.?limit|throttl|too many requests`)

// brief is how soon a connection ends that the other side does not want. Our choice: some round trips,
// less than an upload takes before a poor network breaks it off.
const brief = time.Second

// hungUp reports a connection closed at once, as by a proxy or a tunnel without a service behind it.
func (a *Attempt) hungUp(v attempt.Verdict, f fact.Facts) bool {
	return a.began != 0 && v.Outcome == window.Neutral && v.Retry && f.Unanswered && !f.Unsent &&
		a.runner.now()-a.began < brief
}
