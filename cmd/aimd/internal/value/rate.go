package value

import (
	"strconv"
	"strings"
)

// units are how many seconds there are in each.
var units = map[string]float64{"s": 1, "min": 60, "h": 3600}

// maxRate is beyond any service.
const maxRate = 1e12

// Rate is how often something happens, per second.
func Rate(to *float64) *Value[float64] {
	return &Value[float64]{to, "rate", "a rate greater than 0, up to 1e12/s, like 1000/s, 90/min or 100/h", parseRate, showRate, nil}
}

func parseRate(s string) (float64, bool) {
	number, unit, given := strings.Cut(s, "/")
	if !given {
		unit = "s"
	}
	seconds, known := units[strings.TrimSpace(unit)]
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	rate := x / seconds
	return rate, err == nil && known && 0 < rate && rate <= maxRate
}

func showRate(x float64) string { return showFloat(x) + "/s" }
