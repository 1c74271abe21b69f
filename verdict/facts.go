package verdict

import (
	"cmp"
	"time"

	"github.com/aimd-go/aimd/answer"
)

// Factual is an error that knows the end of its attempt. Classify, guards and policies ask each error of a tree.
// Errors of an integration, or of a guard that refuses, report by Facts what their fields do not show.
type Factual interface {
	error
	// Facts returns what the error knows. It should be quick. Several goroutines may call it at once.
	Facts() Facts
}

// Facts are an error's knowledge of its attempt. The zero value has no knowledge.
type Facts struct {
	// Verdict is the meaning of the error. In a tree of errors, the outermost error that knows a meaning decides.
	// If no error knows a meaning, Classify reads the tree, with the outermost Wait.
	Verdict Verdict
	// Reach is the progress of the attempt. Any error in a tree may know it.
	Reach Reach
	// Several: the error is of several attempts. If the last was not sent, those before it may have been.
	Several bool
}

// Reach is the progress of an attempt.
type Reach uint8

// How far an attempt came.
const (
	// Unsaid: the error does not say. It is read by the words of net, net/http and the system.
	Unsaid Reach = iota
	// Unsent: the request was not sent, so that work which may not be done twice may be tried again. Guards do not
	// count it.
	Unsent
	// Unreached: the service was not reached. A limiter that never had an answer waits for Config.FirstContact.
	Unreached
	// Unanswered: no answer came. Guards do not count it.
	Unanswered
	// Answered: an answer came, whatever else the error says.
	Answered
)

// With returns the error with what it knows of its attempt, a [Factual]. errors.Is and errors.As find err, which must not
// be nil.
func With(err error, f Facts) error { return &known{err, f} }

type known struct {
	error
	facts Facts
}

func (k *known) Unwrap() error { return k.error }
func (k *known) Facts() Facts  { return k.facts }

// VerdictOf is the verdict on an answer of a service, with its wait. It is the zero Verdict for a success, and for
// an answer without a known word.
func VerdictOf(a answer.Answer) Verdict {
	v := Verdict{Meaning: a.Meaning(soon)}
	if v.Meaning == answer.Success {
		return Verdict{}
	}
	if v.Retry() {
		v.Wait = a.Wait
	}
	return v.reasoned()
}

// told is what the errors of a tree say of themselves: the verdict, a wait, and a bit for each reach.
type told struct {
	verdict Verdict
	wait    time.Duration
	reach   uint8
	several bool
	asked   bool
}

func (t told) says(r Reach) bool { return t.reach&(1<<r) != 0 }

// facts asks the errors of the tree, once.
func (f *tree) facts() *told {
	t := &f.told
	if t.asked || len(f.nodes) == 0 { // noTree is shared
		return t
	}
	t.asked = true
	for _, n := range f.nodes {
		known, ok := found[Factual](n)
		if !ok {
			continue
		}
		facts := known.Facts()
		if !t.verdict.Known() {
			t.verdict = facts.Verdict
		}
		t.wait = cmp.Or(t.wait, max(0, facts.Verdict.Wait))
		t.reach |= 1 << min(facts.Reach, Answered)
		t.several = t.several || facts.Several
	}
	return t
}
