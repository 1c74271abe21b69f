package limiter

import "github.com/aimd-go/aimd/window"

// fogLength is the length of the mean over the latest answers, and fogRow are the unclear ones in a row that show an outage.
// An outage is then eleven of these in a row, or most of the latest twenty, and the last six. Our choice: 30 s of 500s with 50
// in flight get 44 to 107 requests, 15 247 without the rule. One 502 in a hundred by chance costs no cut. 20 000 items of a
// pool of 32 that each fail twice take 66 minutes if most of twenty are enough, and 10 to 17 as it is; the best is 3.
const (
	fogLength = 16
	fogRow    = 6
)

// fog is the share of the latest answers that do not say why they failed: window.Unclear. row are the last ones in a row.
type fog struct {
	share float64
	row   int
}

// cleared returns the outcome for the window. An unclear answer is neutral. While more than half of the latest answers are
// unclear, and the last six, it is a time-out. A neutral end does not count among the answers.
func (f *fog) cleared(o window.Outcome) window.Outcome {
	switch o {
	case window.Neutral:
		return o
	case window.Unclear:
	default:
		f.row = 0
		if f.share > 1e-300 { // a number below 2^-1022 costs a processor a hundred cycles
			f.share -= f.share / fogLength
		}
		return o
	}
	f.row++
	if f.share += (1 - f.share) / fogLength; f.share > 0.5 && f.row >= fogRow {
		return window.Timeout
	}
	return window.Neutral
}
