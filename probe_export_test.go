package aimd

import "github.com/aimd-go/aimd/window"

// ProbeWith is Probe with another value for one of its constants, by the name of its field.
func ProbeWith(constant string, value float64) window.NewLaw {
	t := tuned
	*map[string]*float64{
		"growth": &t.growth, "few": &t.few, "touch": &t.touch, "batch": &t.batch, "fall": &t.fall, "more": &t.more,
		"reach": &t.reach, "learn": &t.learn, "slowest": &t.slowest, "stays": &t.stays, "every": &t.every,
	}[constant] = value
	return func(s window.Settings) window.Law { return newProbe(s, &t) }
}
