package value

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aimd-go/aimd/sim"
)

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
