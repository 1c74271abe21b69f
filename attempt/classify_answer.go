package attempt

import (
	"iter"
	"time"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/window"
)

// verdicts is what a limiter makes of what a service says.
var verdicts = [...]Verdict{
	answer.Unclear: {Outcome: window.Unclear, Retry: true},
	answer.Fault:   {Outcome: window.ClientError},
	answer.Final:   {Outcome: window.Neutral},
	answer.Denied:  {Outcome: window.Neutral, Denied: true},
	answer.Passing: {Outcome: window.Neutral, Retry: true},
	answer.Slow:    {Outcome: window.Timeout, Retry: true},
	answer.Refused: {Outcome: window.Overload, Retry: true},
	answer.Guessed: {Outcome: window.Overload, Retry: true, Guessed: true},
	answer.Stopped: {Outcome: window.Overload, Retry: true, Stop: true},
	answer.Spent:   {Outcome: window.Neutral, Reason: ErrQuota},
	answer.Closed:  {Outcome: window.Neutral, Reason: ErrQuota},
}

var (
	overload = verdicts[answer.Refused]
	timeout  = verdicts[answer.Slow]
	again    = verdicts[answer.Passing]
)

// verdict is the verdict on an answer, the zero Verdict on one without a status that says nothing known.
func verdict(a answer.Answer) Verdict {
	m := a.Meaning(soon)
	if m == answer.Unclear && a.Status < 400 && !a.Begun && !a.Worded() {
		return Verdict{}
	}
	v := verdicts[m]
	if v.Retry {
		v.RetryAfter = a.Wait
	}
	return v
}

func classifyAnswer(f *tree) Verdict {
	for a := range answersOf(f) {
		if v := verdict(a); v.Outcome.Valid() {
			return v
		}
	}
	return Verdict{}
}

// classifyWords reads an error by its text alone.
func classifyWords(f *tree) Verdict { return classifyText(f.words()) }

func classifyText(text string) Verdict { return verdict(answer.Of("", text, 0)) }

// answersOf yields the answers that the error is made of: its own, one made of the methods of its tree, and
// those of the shapes. SDKs use a status of success, or 0, for a request that was not answered.
func answersOf(f *tree) iter.Seq[answer.Answer] {
	return func(yield func(answer.Answer) bool) {
		if own, ok := first[interface{ Answer() answer.Answer }](f); ok {
			yield(own.Answer())
			return
		}
		if a, ok := answerOf(f); ok && !yield(a) {
			return
		}
		for s := range (shapes{f}).all {
			if a, ok := s.answer(); ok && !yield(a) {
				return
			}
		}
	}
}

// answerOf is the answer made of the methods of the AWS SDK, which are those of several errors of the tree.
func answerOf(f *tree) (a answer.Answer, ok bool) {
	if code, coded := first[interface{ ErrorCode() string }](f); coded {
		a, ok = answer.Of(code.ErrorCode(), "", 0), true
	}
	if status, known := first[interface{ HTTPStatusCode() int }](f); known {
		if n := status.HTTPStatusCode(); n >= 400 {
			a.Status, ok = n, true
		} else {
			a.Begun = n >= 200 && n < 300 && len(a.Codes) > 0 // Amazon S3's CompleteMultipartUpload
		}
	}
	return a.With("", "", retryAfter(f)), ok
}

func retryAfter(f *tree) time.Duration {
	if after, ok := first[interface{ RetryAfter() time.Duration }](f); ok {
		return max(0, after.RetryAfter())
	}
	return 0
}
