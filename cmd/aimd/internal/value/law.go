package value

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aimd-go/aimd/sim"
)

// Law is the name of one of sim.Laws.
func Law(to *string) *Value[string] {
	laws := sim.Laws()
	parse := func(s string) (string, bool) { return s, slices.Contains(laws, s) }
	return &Value[string]{to, "name", "one of " + strings.Join(laws, ", "), parse, strings.Clone, laws}
}

// CheckFactor refuses a factor that was given, --factor, where none of the laws that
// were chosen with the flag has one.
func CheckFactor(given bool, flag string, chosen ...string) error {
	if !given || slices.ContainsFunc(chosen, sim.TakesFactor) {
		return nil
	}
	without := func(law string) bool { return !sim.TakesFactor(law) }
	return fmt.Errorf("--factor: makes no difference to %s %s, want it with %s",
		flag, strings.Join(chosen, ","), strings.Join(slices.DeleteFunc(sim.Laws(), without), " or "))
}
