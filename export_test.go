package aimd

import "github.com/aimd-go/aimd/window"

// ProbeWith is Probe with one of its constants another, by the name of its field.
func ProbeWith(constant string, value float64) window.NewLaw {
	t := tuned
	floats := map[string]*float64{
		"growth": &t.growth, "excess": &t.excess, "unit": &t.unit, "full": &t.full, "slack": &t.slack,
		"rate": &t.rate, "grain": &t.grain, "longest": &t.longest, "outage": &t.outage, "touch": &t.touch,
		"slow": &t.slow, "long": &t.long, "back": &t.back, "age": &t.age,
		"noise": &t.noise, "trial": &t.trial,
	}
	switch constant {
	case "run":
		t.run = int(value)
	case "batch":
		t.batch = int(value)
	default:
		*floats[constant] = value
	}
	return func(s window.Settings) window.Law { return newProbe(s, &t) }
}
