package proxy

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mostPatience is the longest time that a header is believed. Our choice.
const mostPatience = 24 * time.Hour

// patienceOf is the time for which a program waits for the head of an answer. A header of its SDK, gRPC or Envoy says
// it; 0: no header does.
func patienceOf(h http.Header) time.Duration {
	for _, of := range patiences {
		if v := h[of.name]; len(v) == 1 {
			unit := of.unit
			if n := len(v[0]); unit == 0 && n > 0 { // gRPC: 8 digits and a unit
				unit, v = grpcUnits[v[0][n-1]], []string{v[0][:n-1]}
			}
			x, err := strconv.ParseFloat(strings.TrimSpace(v[0]), 64)
			if d := x * float64(unit); err == nil && d >= float64(time.Millisecond) && d <= float64(mostPatience) {
				return time.Duration(d)
			}
		}
	}
	return 0
}

var patiences = []struct {
	name string
	unit time.Duration
}{
	{"X-Stainless-Timeout", time.Second}, {"X-Stainless-Read-Timeout", time.Second}, // OpenAI's and Anthropic's SDKs
	{"Grpc-Timeout", 0}, {"X-Envoy-Expected-Rq-Timeout-Ms", time.Millisecond}, {"Request-Timeout", time.Second},
}

var grpcUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}
