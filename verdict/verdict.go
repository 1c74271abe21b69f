// Package verdict says what the error of an attempt means: whether the service refused for load, whether another attempt may
// succeed, and when.
//
//	v := verdict.Classify(err)
//	if v.Retry() {
//		time.Sleep(v.Wait)
//	}
//
// [Classify] is the default of every limiter and policy. It knows the errors of net/http, of gRPC, of databases and of most
// SDKs. A [Classifier] of your own comes before it by [FirstOf], in aimd.Config.Classifier. An error type of your own says
// what it knows as a [Factual]; for a single error aimd.Refused and its like are enough. [Read] says how far an attempt
// came, for integrations.
package verdict

import (
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/reason"
	"github.com/aimd-go/aimd/window"
)

// Verdict is the meaning of an attempt's error, and the wait that the service asks for. The zero Verdict: the
// meaning is not known. The outcome of each meaning:
//
//	answer.Unknown    neutral
//	answer.Success    success
//	answer.Unclear    neutral; a timeout while most of the latest answers are unclear; again
//	answer.Fault      client error, from a healthy service
//	answer.Final      neutral
//	answer.Denied     neutral; perhaps of a firewall
//	answer.Passing    neutral, again
//	answer.Slow       timeout, again
//	answer.Refused    overload, again
//	answer.Guessed    overload, again
//	answer.Stopped    overload, again, and a pause for all
//	answer.Spent      neutral, for the reason ErrQuota
//	answer.Closed     neutral, for the reason ErrQuota
//	answer.Partly     overload; the answer is a success for the caller, or in Do: again
//	answer.Mostly     success; in Do: again
//	answer.Hurt       neutral, again, three times
//
// Again means that another attempt may succeed; otherwise the error is final. A policy may decide otherwise.
//
// Denied: after 50 successes, ten such answers in a row mean that a firewall blocks the client. (If longer runs
// have passed before, twice the longest.) The limiter then pauses all operations for a minute, later for two and
// four, and tries the denied operations again. An operation that cannot wait so long ends the pause.
//
// Guessed: after MaxRetryAfter without another answer the operation ends, for the reason ErrQuota.
//
// Stopped: the service refuses everybody. The pause lasts for the Wait, and at most MaxRetryAfter. Without a Wait it lasts a
// minute, and twice as long after each such answer in a row, up to 64 minutes.
type Verdict struct {
	// Meaning is the meaning of the answer, or of the attempt's end without an answer.
	Meaning answer.Meaning
	// Wait is the time for which the service asked to wait, or 0.
	Wait time.Duration
	// Reason is a reason for no further attempt, despite the meaning and a policy; nil: these decide. It does not
	// come from an answer: the service has never answered (ErrNeverAnswered), or its protocol forbids another
	// attempt.
	Reason error
}

// verdicts are the effects of each meaning: the outcome for the law, and whether another attempt may succeed.
var verdicts = [...]struct {
	outcome window.Outcome
	again   bool
}{
	answer.Unknown: {window.Neutral, false},
	answer.Success: {window.Success, false},
	answer.Unclear: {window.Unclear, true},
	answer.Fault:   {window.ClientError, false},
	answer.Final:   {window.Neutral, false},
	answer.Denied:  {window.Neutral, false},
	answer.Passing: {window.Neutral, true},
	answer.Slow:    {window.Timeout, true},
	answer.Refused: {window.Overload, true},
	answer.Guessed: {window.Overload, true},
	answer.Stopped: {window.Overload, true},
	answer.Spent:   {window.Neutral, false},
	answer.Closed:  {window.Neutral, false},
	answer.Partly:  {window.Overload, true},
	answer.Mostly:  {window.Success, true},
	answer.Hurt:    {window.Neutral, true},
}

// Outcome is the outcome of the attempt for laws and guards.
func (v Verdict) Outcome() window.Outcome {
	if int(v.Meaning) >= len(verdicts) {
		return window.Neutral
	}
	return verdicts[v.Meaning].outcome
}

// Retry reports whether another attempt may succeed: by the meaning, and without a reason against it.
func (v Verdict) Retry() bool {
	return v.Reason == nil && int(v.Meaning) < len(verdicts) && verdicts[v.Meaning].again
}

// Known reports whether the verdict says something of the attempt.
func (v Verdict) Known() bool { return v.Meaning != answer.Unknown || v.Reason != nil }

// reasoned returns the verdict with the reason that its meaning has.
func (v Verdict) reasoned() Verdict {
	if v.Reason == nil && (v.Meaning == answer.Spent || v.Meaning == answer.Closed) {
		v.Reason = reason.ErrQuota
	}
	return v
}

// Classifier reads an attempt's error, which is never nil, on the goroutine of the attempt. It returns the
// zero Verdict for an error that it does not know; such an error is neutral and final, unless time ran out.
// Several goroutines may call it at once. It should be quick.
type Classifier func(err error) Verdict

// FirstOf asks the classifiers in turn and takes the first answer: FirstOf(mine, Classify) adds to the default.
func FirstOf(cs ...Classifier) Classifier {
	return func(err error) Verdict {
		for _, c := range cs {
			if v := c(err); v.Known() {
				return v
			}
		}
		return Verdict{}
	}
}
