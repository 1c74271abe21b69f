package verdict

import (
	"iter"
	"time"

	"github.com/aimd-go/aimd/answer"
)

var (
	overload = Verdict{Meaning: answer.Refused}
	timeout  = Verdict{Meaning: answer.Slow}
	again    = Verdict{Meaning: answer.Passing}
)

func classifyAnswer(f *tree) Verdict {
	for a := range answersOf(f) {
		if v := VerdictOf(a); v.Known() {
			return v
		}
	}
	return Verdict{}
}

func classifyWords(f *tree) Verdict { return classifyText(f.words()) }

func classifyText(text string) Verdict {
	if v := VerdictOf(answer.Of("", text, 0)); v.Known() {
		return v
	}
	return named(text)
}

// answersOf yields the answers that the error is made of: one made of the methods of its tree, and those of the shapes.
func answersOf(f *tree) iter.Seq[answer.Answer] {
	return func(yield func(answer.Answer) bool) {
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
	status := 0
	if s, known := first[interface{ HTTPStatusCode() int }](f); known {
		if status = s.HTTPStatusCode(); status >= 400 {
			a.Status, ok = status, true
		}
	}
	wait, text := retryAfter(f), ""
	if code, coded := first[interface{ ErrorCode() string }](f); coded {
		if text, ok = code.ErrorCode(), true; a.Status == 0 {
			a = answer.Of(text, "", 0)
			text = ""
		}
	}
	a = a.With(text, "", wait)
	a.Begun = status >= 200 && status < 300 && len(a.Codes) > 0 // Amazon S3's CompleteMultipartUpload
	return a, ok
}

func retryAfter(f *tree) time.Duration {
	if told := f.facts().wait; told > 0 {
		return told
	}
	if after, ok := first[interface{ RetryAfter() time.Duration }](f); ok {
		return max(0, after.RetryAfter())
	}
	return 0
}
