package value

import (
	"strings"
	"time"
)

// Durations are durations from lo to hi, with commas between them.
func Durations(to *[]time.Duration, lo, hi time.Duration) *Value[[]time.Duration] {
	one := within(time.ParseDuration, lo, hi)
	parse := func(s string) ([]time.Duration, bool) {
		var all []time.Duration
		for f := range strings.SplitSeq(s, ",") {
			d, ok := one(strings.TrimSpace(f))
			if !ok {
				return nil, false
			}
			all = append(all, d)
		}
		return all, true
	}
	show := func(all []time.Duration) string {
		var texts []string
		for _, d := range all {
			texts = append(texts, ShowDuration(d))
		}
		return strings.Join(texts, ",")
	}
	want := "durations from " + ShowDuration(lo) + " to " + ShowDuration(hi) + ", with commas between them, like 30s,30m"
	return &Value[[]time.Duration]{to, "durations", want, parse, show, nil}
}
