package aimd

import (
	"github.com/aimd-go/aimd/internal/probe"
	"github.com/aimd-go/aimd/window"
)

// Probe is the law of New, for services of any size and kind. It needs no factor. It learns how many requests are refused
// without load, and what exceeds that is load. Load cuts the window to what the service took. Past that the window grows
// again, slowly at first. Answers that get slower end growth, too, so it fits services that refuse nothing.
//
// Each answer has one cause, in Event.Cause, in the log and on the live page:
//
//	cause     the answer                                    the window
//	more      a success                                     grows
//	chance    a refusal, and few came before                stays
//	own       a refusal as often as without load            stays
//	load      a refusal beyond that                         falls to what was taken, or is held
//	outage    one of many refusals in a row                 falls to a little of what was taken, and on
//	back      the first success after a silence             is at least a sixth of what was taken before it
//	used up   the first success after a long silence        is the rate that lasts: a limit was used up
//	slow      a success, 1.5 times as slow as the quickest  stays, or is half for a look
//
// Snapshot.Phase is "holding" while a window that fell far waits for more evidence, and "looking" while half of it is tried. A
// restored State has a ceiling unless Ssthresh is MaxWindow. With a Settings.Min above 1 the window never is a rate.
// docs/laws.md has the ten rules.
func Probe() window.NewLaw { return probe.New }
