package limiter

import "github.com/aimd-go/aimd/window"

// fogLength is the length of the mean over the latest answers. An outage is then eleven unclear answers in a row,
// or most of the latest twenty. Our choice: 30 s of 500s with 50 in flight get 44 to 107 requests, 15 247 without
// the rule. One 502 in a hundred by chance costs no cut.
const fogLength = 16

// fog is the share of the latest answers that do not say why they failed: window.Unclear.
type fog struct{ share float64 }

// cleared returns the outcome for the window. An unclear answer is neutral. While more than half of the latest
// answers are unclear, it is a time-out. A neutral end does not count among the answers.
func (f *fog) cleared(o window.Outcome) window.Outcome {
	switch o {
	case window.Neutral:
		return o
	case window.Unclear:
	default:
		if f.share > 1e-300 { // a number below 2^-1022 costs a processor a hundred cycles
			f.share -= f.share / fogLength
		}
		return o
	}
	if f.share += (1 - f.share) / fogLength; f.share > 0.5 {
		return window.Timeout
	}
	return window.Neutral
}
