package value

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aimd-go/aimd/sim"
)

// TakesFactor reports whether that law is known to have a factor, as tahoe and reno do. A
// law of sim.Register may read it too; this is false all the same.
func TakesFactor(law string) bool { return law == "tahoe" || law == "reno" }

// CheckFactor refuses a factor that was given, --factor, where none of the laws that
// were chosen with the flag has one.
func CheckFactor(given bool, flag string, chosen ...string) error {
	if !given || slices.ContainsFunc(chosen, TakesFactor) {
		return nil
	}
	without := func(law string) bool { return !TakesFactor(law) }
	return fmt.Errorf("--factor: makes no difference to %s %s, want it with %s",
		flag, strings.Join(chosen, ","), strings.Join(slices.DeleteFunc(sim.Laws(), without), " or "))
}
