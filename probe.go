package aimd

import (
	"github.com/aimd-go/aimd/internal/probe"
	"github.com/aimd-go/aimd/window"
)

// Probe is the law of New. It needs no factor, for services of any size and kind. Know what the service does without load;
// what exceeds it is load; an allowance for the rest. Each success earns an allowance of refusals, each refusal spends
// one, and a refusal with nothing left is load. Load cuts the window to what the service took, and past that the window
// grows again, slowly at first. A window that fell far is held until the service's own share of refusals is measured.
//
// Each answer has one cause, in Event.Cause, and each cause has one effect:
//
//	cause     evidence                                                       the window
//	chance    a refusal before the first load: the allowance has some left   stays
//	own       the same after it, or the own share is measured                stays
//	load      nothing is left                                                falls to what was taken, or is held
//	outage    more are refused in a row than an allowance and 20             falls to a little of what was taken, and on
//	back      the first success after a silence                              is at least a sixth of what was taken before it
//	used up   the silence was longer than the acceptance before it           is the rate that lasts
//	slow      answers take 1.5 times the shortest of late                    stays, or is half for a look
//	more      any other success                                              grows
//
// Snapshot.Phase is "holding" while the share is measured, and "looking" while half is tried. A restored State has a
// ceiling unless Ssthresh is MaxWindow. With a Settings.Min above 1 the window never is a rate. docs/laws.md has the rules.
func Probe() window.NewLaw { return probe.New }
