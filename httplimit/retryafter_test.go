package httplimit_test

import (
	"math"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/httplimit"
)

const year = 365 * 24 * time.Hour

// noon is now in the tests of RetryAfter.
var noon = time.Date(2026, time.March, 4, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		// "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT", "Retry-After: 120" (RFC 9110, section 10.2.3)
		{"120", 2 * time.Minute, true},
		{"Wed, 04 Mar 2026 12:00:30 GMT", 30 * time.Second, true},
		{"Wednesday, 04-Mar-26 12:00:30 GMT", 30 * time.Second, true},
		{"Wed Mar  4 12:00:30 2026", 30 * time.Second, true},
		{"0", 0, true},
		{" 5 ", 5 * time.Second, true},
		{"00005", 5 * time.Second, true},
		{"Fri, 31 Dec 1999 23:59:59 GMT", 0, true},
		{"31536000", year, true},
		{"31536001", 0, false},
		{"Thu, 04 Mar 2027 12:00:00 GMT", year, true},
		{"Thu, 04 Mar 2027 12:00:01 GMT", 0, false},
		{"Fri, 31 Dec 9999 23:59:59 GMT", 0, false},
		{strconv.FormatInt(noon.Unix(), 10), 0, false},
		{"9223372036854775807", 0, false},
		{"9223372037", 0, false}, // in nanoseconds, one more than an int64 has
		{"18446744073709551616", 0, false},
		{"-1", 0, false},
		{"+1", 0, false},
		{"1.5", 0, false},
		{"1e3", 0, false},
		{"0x10", 0, false},
		{"1_000", 0, false},
		{"5s", 0, false},
		{"soon", 0, false},
		{"NaN", 0, false},
		{"", 0, false},
		{"Wed, 04 Mar 2026 12:00:30 PST", 0, false},
	} {
		t.Run(c.value, func(t *testing.T) {
			got, ok := httplimit.RetryAfter(http.Header{"Retry-After": {c.value}}, noon)
			assert.Equal(t, c.ok, ok)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestRetryAfterInMilliseconds(t *testing.T) {
	for _, name := range []string{"X-Amz-Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		h := http.Header{}
		h.Set("Retry-After", "2")
		h.Set(name, "1500")
		d, ok := httplimit.RetryAfter(h, noon)
		assert.True(t, ok, name)
		assert.Equal(t, 1500*time.Millisecond, d, name)
		h.Set(name, "-1")
		d, ok = httplimit.RetryAfter(h, noon)
		assert.True(t, ok, "the other one still counts")
		assert.Equal(t, 2*time.Second, d)
		h.Set(name, strconv.FormatInt(math.MaxInt64, 10))
		d, _ = httplimit.RetryAfter(h, noon)
		assert.Equal(t, 2*time.Second, d)
	}
}

func TestRetryAfterCountsFromTheServicesClock(t *testing.T) {
	h := http.Header{
		"Date":        {"Wed, 04 Mar 2026 13:00:00 GMT"}, // an hour ahead of ours
		"Retry-After": {"Wed, 04 Mar 2026 13:00:10 GMT"},
	}
	d, ok := httplimit.RetryAfter(h, noon)
	assert.True(t, ok)
	assert.Equal(t, 10*time.Second, d)
	h.Set("Date", "yesterday")
	d, ok = httplimit.RetryAfter(h, noon)
	assert.True(t, ok)
	assert.Equal(t, time.Hour+10*time.Second, d)
}

func TestNoRetryAfter(t *testing.T) {
	for _, h := range []http.Header{nil, {}, {"Retry-After": nil}} {
		d, ok := httplimit.RetryAfter(h, noon)
		assert.False(t, ok)
		assert.Zero(t, d)
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120", "", "", int64(0))
	f.Add("Wed, 04 Mar 2026 12:00:30 GMT", "", "Wed, 04 Mar 2026 12:00:00 GMT", int64(1<<40))
	f.Add("-1", "1500", "soon", int64(-1<<40))
	f.Add("18446744073709551616", "9223372036854775808", "", int64(0))
	f.Fuzz(func(t *testing.T, after, millis, date string, now int64) {
		h := http.Header{"Retry-After": {after}, "X-Amz-Retry-After": {millis}, "Date": {date}}
		at := time.Unix(now, 0)
		d, ok := httplimit.RetryAfter(h, at)
		assert.True(t, ok || d == 0, "no Retry-After is no delay")
		assert.True(t, 0 <= d && d <= year, "%v", d)
		// A number is as many seconds, or nothing at all.
		if n, err := strconv.ParseUint(after, 10, 64); err == nil {
			d, ok := httplimit.RetryAfter(http.Header{"Retry-After": {after}}, at)
			if want := float64(n) * 1e9; ok {
				assert.Equal(t, want, float64(d))
			} else {
				assert.Greater(t, want, float64(year))
			}
		}
	})
}
