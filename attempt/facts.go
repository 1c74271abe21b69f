package attempt

import (
	"cmp"
	"time"

	"github.com/aimd-go/aimd/answer"
)

// Factual is an error that knows what became of its attempt. Classify, guards and policies ask each error of a tree.
// Errors of an integration, or of a guard that refuses, say by it what nobody can read of their fields.
type Factual interface {
	error
	// Facts returns what the error knows. It should be quick. Several goroutines may call it at once.
	Facts() Facts
}

// Facts is what an error knows of its attempt. The zero value knows nothing.
type Facts struct {
	// Verdict is what the error means. Of several errors in a tree, the outermost that knows a meaning decides. If none
	// does, Classify reads them, with the Wait of the outermost that knows a wait.
	Verdict Verdict
	// Reach is how far the attempt came. What any error in a tree says of that holds.
	Reach Reach
}

// Reach is how far an attempt came.
type Reach uint8

// How far an attempt came.
const (
	// Untold: the error does not say. It is read as net, net/http and the system word it.
	Untold Reach = iota
	// Unsent: the request was not sent, so that work which may not be done twice may be tried again. Guards do not
	// count it.
	Unsent
	// Unreached: the service was not reached. A limiter that never had an answer waits for Config.FirstContact.
	Unreached
	// Unanswered: no answer came. Guards do not count it.
	Unanswered
	// Heard: an answer came, whatever else the error says.
	Heard
)

// VerdictOf is the verdict on an answer of a service, with its wait. It is the zero Verdict for an answer that is a
// success, or that says nothing known.
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
		if !t.verdict.known() {
			t.verdict = facts.Verdict
		}
		t.wait = cmp.Or(t.wait, max(0, facts.Verdict.Wait))
		t.reach |= 1 << min(facts.Reach, Heard)
	}
	return t
}
