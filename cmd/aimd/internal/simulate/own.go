package simulate

import (
	"slices"
	"strings"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/sim"
)

// ownLaws are the laws that the user's program registered.
func ownLaws() []string {
	return slices.DeleteFunc(sim.Laws(), func(name string) bool {
		return slices.Contains([]string{"probe", "tahoe", "reno"}, name)
	})
}

// withLaws adds the laws to the strategies of a built-in scenario and to its figures,
// but for maps, which compare two. A scenario without a list has them already.
func withLaws(s scenario.Scenario, laws []string) scenario.Scenario {
	if len(s.Strategies) == 0 {
		return s
	}
	s.Strategies, s.Plot = slices.Clone(s.Strategies), slices.Clone(s.Plot)
	for _, name := range laws {
		strategy, _ := sim.StrategyNamed(name)
		s.Strategies = append(s.Strategies, strategy)
	}
	for i, p := range s.Plot {
		if len(p.Strategies) > 0 && p.Kind != scenario.Map {
			s.Plot[i].Strategies = slices.Concat(p.Strategies, laws)
		}
	}
	return s
}

// chooses reports whether settings say which strategies run.
func chooses(settings []string) bool {
	return slices.ContainsFunc(settings, func(s string) bool { return strings.HasPrefix(s, "strategies") })
}
