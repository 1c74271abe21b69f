package answer_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/answer"
)

// Whatever a service sends, a delay is from 0 to a year.
func FuzzRead(f *testing.F) {
	f.Add("1.5", "0", "1691591363", "Wed, 09 Aug 2023 14:28:23 GMT", `{"error":{"details":[{"retryDelay":"34s"}]}}`)
	f.Add("Inf", "0", "1e400", "", `{"retryDelay":"-1s"}`)
	f.Add("", "0", "9223372036854775807", "yesterday", `[[[[[[[[{"code":"x"}]]]]]]]]`)
	f.Fuzz(func(t *testing.T, after, left, reset, date, body string) {
		h := http.Header{
			"X-Ratelimit-Retryafter": {after}, "X-Ratelimit-Remaining": {left}, "X-Ratelimit-Reset": {reset}, "Date": {date},
		}
		a := answer.Read(429, h, []byte(body), time.Unix(1691591303, 0))
		for _, d := range []time.Duration{a.After, a.Reset} {
			require.GreaterOrEqual(t, d, time.Duration(0))
			require.LessOrEqual(t, d, answer.Longest)
		}
	})
}

// A Unix time is told from a delay by its size, and a number that is neither does not count.
func TestResets(t *testing.T) {
	now := time.Date(2023, time.August, 9, 14, 28, 23, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"30": 30 * time.Second, "64.57": 64570 * time.Millisecond, "1691591363": time.Minute, "1691591363000": time.Minute,
		"1691591303": 0, "Inf": 0, "NaN": 0, "-1": 0, "1e400": 0, "99999999999999999999": 0, "soon": 0, "": 0,
	} {
		h := http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {value}}
		require.Equal(t, want, answer.Read(403, h, nil, now).Reset, value)
		h.Set("X-Ratelimit-Remaining", "1")
		require.Zero(t, answer.Read(403, h, nil, now).Reset, value)
	}
}
