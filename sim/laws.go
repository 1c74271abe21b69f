package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/window"
)

// The laws of Window.Law that are there from the start. Register adds others.
const (
	// ProbeLaw is aimd.Probe.
	ProbeLaw = "probe"
	// TahoeLaw is aimd.Tahoe.
	TahoeLaw = "tahoe"
	// RenoLaw is aimd.Reno.
	RenoLaw = "reno"
)

type namedLaw struct {
	name string
	law  window.NewLaw
	// factor: the law is known to read window.Settings.Factor.
	factor bool
}

// builtin is how many of the laws are there from the start.
const builtin = 3

// laws are all that scenarios and strategies can name.
var laws = []namedLaw{{ProbeLaw, aimd.Probe, false}, {TahoeLaw, aimd.Tahoe, true}, {RenoLaw, aimd.Reno, true}}

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
	if _, known := LawNamed(name); known || strategy {
		panic(fmt.Sprintf("sim: a law's name: %q is not allowed, it is taken", name))
	}
	if law == nil {
		panic(fmt.Sprintf("sim: the law %q is nil, want one", name))
	}
	laws = append(laws, namedLaw{name, law, false})
}

// Laws returns the names of all laws, those of Register last.
func Laws() []string {
	names := make([]string, len(laws))
	for i, l := range laws {
		names[i] = l.name
	}
	return names
}

// TakesFactor reports whether that law is known to read window.Settings.Factor, as
// TahoeLaw and RenoLaw do and ProbeLaw does not. A law of Register may read it, and
// Window.Factor is there for it; this is false all the same.
func TakesFactor(name string) bool {
	return slices.ContainsFunc(laws, func(l namedLaw) bool { return l.name == name && l.factor })
}

// LawNamed returns the law of that name.
func LawNamed(name string) (window.NewLaw, bool) {
	i := slices.IndexFunc(laws, func(l namedLaw) bool { return l.name == name })
	if i < 0 {
		return nil, false
	}
	return laws[i].law, true
}
