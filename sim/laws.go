package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/window"
)

type namedLaw struct {
	name string
	law  window.NewLaw
}

// laws are all that scenarios and strategies can name; builtin is how many of them are
// there from the start.
var laws = []namedLaw{{"probe", aimd.Probe}, {"tahoe", aimd.Tahoe}, {"reno", aimd.Reno}}

const builtin = 3

// withoutIgnoredWord names Reno without the set of ignored ids: each refusal of a burst cuts.
// Scenarios show with it what the set is for; it is no law to choose, and not one of Laws.
const withoutIgnoredWord = "reno-without-ignored"

func withoutIgnored(s window.Settings) window.Law { return cutsForEach{aimd.Reno(s)} }

type cutsForEach struct{ window.Law }

func (c cutsForEach) Answered(now time.Duration, s window.State, a window.Answer) window.State {
	a.Ignored = false
	return c.Law.Answered(now, s, a)
}

// Register makes a law known by name: to Window.Law and so to scenario files, and
// to Strategies, which then has a strategy of that name. Call it from main or init,
// before anything runs: it is not safe for use by several goroutines.
//
// It panics if the name is empty, has blanks, or is that of a law or a strategy
// already, or if there is no law.
func Register(name string, law window.NewLaw) {
	if name == "" || strings.ContainsAny(name, " \t\r\n") {
		panic(fmt.Sprintf("sim: a law's name: %q is not allowed, want a word without blanks", name))
	}
	_, strategy := StrategyNamed(name)
	if lawNamed(name) != nil || strategy {
		panic(fmt.Sprintf("sim: a law's name: %q is not allowed, it is taken", name))
	}
	if law == nil {
		panic(fmt.Sprintf("sim: the law %q is nil, want one", name))
	}
	laws = append(laws, namedLaw{name, law})
}

// Laws returns the names of all laws, those of Register last.
func Laws() []string {
	names := make([]string, len(laws))
	for i, l := range laws {
		names[i] = l.name
	}
	return names
}

// lawNamed is the law of that name, nil if there is none.
func lawNamed(name string) window.NewLaw {
	if name == withoutIgnoredWord {
		return withoutIgnored
	}
	if i := slices.IndexFunc(laws, func(l namedLaw) bool { return l.name == name }); i >= 0 {
		return laws[i].law
	}
	return nil
}
