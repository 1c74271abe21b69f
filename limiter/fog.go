package limiter

import "github.com/aimd-go/aimd/window"

// fogLength is the length of the mean over the latest answers. With it eleven unclear answers in a row are an outage, or
// most of the latest twenty. Our choice: 30 s of 500s with 50 in flight get 44 to 107 requests, 15 247 without the rule. One
// 502 in a hundred by chance costs no cut.
const fogLength = 16

// fog is the share of the latest answers that do not say why they failed: window.Unclear.
type fog struct{ share float64 }

// cleared returns what an outcome means to the window. An unclear answer is neutral, and a time-out while more than half
// of the latest answers are unclear. A neutral end says nothing of either.
func (f *fog) cleared(o window.Outcome) window.Outcome {
	switch o {
	case window.Neutral:
		return o
	case window.Unclear:
	default:
		f.share -= f.share / fogLength
		return o
	}
	if f.share += (1 - f.share) / fogLength; f.share > 0.5 {
		return window.Timeout
	}
	return window.Neutral
}
