package attempt

import (
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

// noted updates the first contact after the end of the attempt, and returns the verdict.
func (a *Attempt) noted(v verdict.Verdict, f verdict.Reading, err error) verdict.Verdict {
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
			v = quiet(v)
			v.Reason = reason
		} else {
			// The name of a service that was there is not found: an outage of the resolver or of our network.
			if f.Forgotten && v.Reason == nil && !v.Retry() {
				v.Meaning, a.more().forgotten = answer.Passing, true
			}
		}
	case !f.Unanswered && !f.OfContext:
		s.Contact(true, nil)
	}
	return v
}

// brief is the time in which a connection ends that the other side does not want. Our choice: some round trips,
// less than an upload takes before a poor network breaks it off.
const brief = time.Second

// hungUp reports a connection closed at once, as by a proxy or a tunnel without a service behind it.
func (a *Attempt) hungUp(v verdict.Verdict, f verdict.Reading) bool {
	return a.began != 0 && v.Meaning == answer.Passing && f.Unanswered && !f.Unsent &&
		now()-a.began < brief
}

// quiet is the verdict without its outcome for load.
func quiet(v verdict.Verdict) verdict.Verdict {
	if v.Retry() {
		v.Meaning = answer.Passing
	} else {
		v.Meaning = answer.Final
	}
	return v
}
