package viewer

import (
	"fmt"
	"math"
	"time"
)

// enough is how many answers it takes to speak of parts of them.
const enough = 20

// longWait is the wait from which on it is spoken of.
const longWait = 5 * time.Second

// hints are what to do or to know beside the verdict.
func (f facts) hints() []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }

	answers := f.Attempts() - f.before.Attempts()
	overloads, timeouts := f.Overloads-f.before.Overloads, f.Timeouts-f.before.Timeouts
	part := func(n uint64) float64 { return float64(n) / float64(max(answers, enough)) }

	if p := part(overloads + timeouts); p > 0.2 {
		say("One answer in %.0f is a refusal: the limit is very low, or others use it too.", math.Max(1, math.Round(1/p)))
	}
	if timeouts >= 5 && timeouts > overloads {
		say("More attempts time out than are refused: compare the attempt timeout with how long the service takes.")
	}
	if part(f.ClientErrors-f.before.ClientErrors) > often {
		say("Most answers are client errors (a 404, a 412): that is not load, look at the requests.")
	}
	if part(f.Neutrals-f.before.Neutrals) > often {
		say("Most attempts tell nothing about load (no connection, an error of the program's own): look at the errors.")
	}
	if f.LongestWait >= longWait {
		say("Within the last minute something waited for %v: callers with less time give up in the queue.", f.LongestWait.Round(time.Second))
	}
	if f.Late > 0 {
		say("Permits released twice: %d. That is a mistake in the program that calls Done.", f.Late)
	}
	return all
}
