package answer

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The answers that services document, and some that were captured.
func TestHeadersOfServices(t *testing.T) {
	text, err := os.ReadFile("testdata/headers.json")
	require.NoError(t, err)
	var corpus struct {
		Cases []struct {
			Source  string
			Headers map[string]string
			Reports []Quota
		}
	}
	require.NoError(t, json.Unmarshal(text, &corpus))
	require.Len(t, corpus.Cases, 26)
	read := 0
	for _, c := range corpus.Cases {
		h := http.Header{}
		for name, value := range c.Headers {
			h.Set(name, value)
		}
		assert.ElementsMatch(t, c.Reports, Quotas(h, func() time.Time { return time.Time{} }), c.Source)
		read += len(c.Reports)
	}
	assert.Equal(t, 17, read)
}

// What no document of the corpus has.
func TestOtherHeaders(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	of := func(lines ...string) http.Header {
		h := http.Header{}
		for _, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		return h
	}
	requests := Quota{Name: "requests", Limit: 60, Left: 5, Reset: 30 * time.Second}
	unlimited, later, own, both := requests, requests, requests, requests
	unlimited.Limit, later.Reset = -1, 40*time.Second
	own.Name = "search"
	both.Name = "burst"
	bytes := both
	bytes.Amounts = true
	for name, c := range map[string]struct {
		header http.Header
		want   []Quota
	}{
		"none":                     {of("Content-Type: text/plain", "X-Request-Id: 1", "Age: 7", "Retry-After: 7"), nil},
		"of the service itself":    {of("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5", "X-RateLimit-Reset: 30"), []Quota{requests}},
		"a key":                    {of("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5", "X-RateLimit-Reset: 30", "X-RateLimit-Resource: search"), []Quota{own}},
		"an epoch without a Date":  {of("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5", fmt.Sprint("X-RateLimit-Reset: ", now.Unix()+30)), []Quota{requests}},
		"an epoch in milliseconds": {of("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5", fmt.Sprint("X-RateLimit-Reset: ", now.UnixMilli()+30_000)), []Quota{requests}},
		"another clock": {of("Date: Sun, 22 Nov 2026 11:59:50 GMT", "X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5",
			fmt.Sprint("X-RateLimit-Reset: ", now.Unix()+30)), []Quota{later}},
		"a date":               {of("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5", "X-RateLimit-Reset: Sun, 22 Nov 2026 12:00:30 GMT"), []Quota{requests}},
		"no limit":             {of("RateLimit-Remaining: 5", "RateLimit-Reset: 30"), []Quota{unlimited}},
		"several limits":       {of("RateLimit-Limit: 60, 10;w=1, 60;w=60", "RateLimit-Remaining: 5", "RateLimit-Reset: 30"), []Quota{requests}},
		"a draft's policy":     {of(`RateLimit-Policy: "burst";q=60;w=60, "daily";q=1000;w=86400`, `RateLimit: "burst";r=5;t=30`), []Quota{both}},
		"a policy in amounts":  {of(`RateLimit-Policy: "burst";q=60;w=60;qu="content-bytes"`, `RateLimit: "burst";r=5;t=30`), []Quota{bytes}},
		"one in requests":      {of(`RateLimit-Policy: "burst";q=60;w=60;qu="requests"`, `RateLimit: "burst";r=5;t=30`), []Quota{both}},
		"tokens for names":     {of("RateLimit-Policy: burst;q=60;w=60", "RateLimit: burst;r=5;t=30"), []Quota{both}},
		"no number":            {of("X-RateLimit-Limit: sixty", "X-RateLimit-Remaining: five", "X-RateLimit-Reset: soon"), nil},
		"numbers that are not": {of("X-RateLimit-Limit: NaN", "X-RateLimit-Remaining: Inf", "X-RateLimit-Reset: 1e300"), nil},
		"a limit alone":        {of("X-RateLimit-Limit: 60"), nil},
		"a key alone":          {of("X-RateLimit-Resource: core"), nil},
		"a malformed draft":    {of(`RateLimit: "a;r=;t=5,;;=,"`, "RateLimit-Policy: ;;,,=;qu"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, append([]Quota(nil), Quotas(c.header, func() time.Time { return now })...))
		})
	}
}

// An answer that reports nothing costs no allocation.
func TestNoReportNoAllocation(t *testing.T) {
	h := http.Header{"Content-Type": {"text/plain"}, "X-Request-Id": {"1"}, "Age": {"7"}, "Date": {"Sun, 22 Nov 2026 12:00:00 GMT"}}
	assert.Zero(t, testing.AllocsPerRun(100, func() { Quotas(h, time.Now) }))
}

// hostile are headers of some 10 MB and of so many MB.
func hostile(megabytes int) map[string]map[string][]string {
	long := func(part string) string { return strings.Repeat(part, megabytes<<20/len(part)) }
	names, lines := map[string][]string{"X-Ratelimit-Remaining-a": {"1"}}, []string{}
	for i := range megabytes << 10 {
		names[fmt.Sprint("X-Ratelimit-Remaining-", i, strings.Repeat("n", 1<<9))] = []string{"1"}
		lines = append(lines, strings.Repeat("a;r=1,", 170))
	}
	return map[string]map[string][]string{
		"items":      {"Ratelimit": {long("a;r=1,")}},
		"parameters": {"Ratelimit": {"a" + long(";r=1")}},
		"one text":   {"Ratelimit": {long("a")}, "Date": {long("a")}, "X-Ratelimit-Reset": {long("9")}, "X-Ratelimit-Resource": {long("n")}},
		"lines":      {"Ratelimit": lines, "Ratelimit-Policy": lines},
		"names":      names,
		"a name":     {"X-Ratelimit-Remaining-" + long("n"): {"1"}, "Anthropic-Ratelimit-" + long("n") + "-Remaining": {"1"}},
	}
}

// docs/quota.md, rule 10: a header costs no more than its first 16 items of 4 KB, however long it is.
func TestALongHeaderCostsNoMoreThanAShortOne(t *testing.T) {
	work := func(h map[string][]string) (reports int, bytes uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		reports = len(Quotas(h, time.Now))
		runtime.ReadMemStats(&after)
		return reports, after.TotalAlloc - before.TotalAlloc
	}
	for kind, h := range hostile(10) {
		reports, bytes := work(h)
		assert.LessOrEqual(t, reports, mostQuotas, kind)
		assert.LessOrEqual(t, bytes, uint64(64<<10), kind)
	}
	// As many names as there may be are read.
	h := map[string][]string{"X-Ratelimit-Remaining": {"1"}}
	for i := len(h); i < 256; i++ {
		h[fmt.Sprint("X-", i)] = nil
	}
	assert.Len(t, Quotas(h, time.Now), 1)
	h["X-Another"] = nil
	assert.Empty(t, Quotas(h, time.Now))
	padded := func(n int) map[string][]string {
		return map[string][]string{"Ratelimit": {strings.Repeat(" ", n-len("a;r=1")) + "a;r=1"}}
	}
	assert.Len(t, Quotas(padded(4096), time.Now), 1)
	assert.Empty(t, Quotas(padded(4097), time.Now), "its r has no number")
	for n, want := range map[int]int{16: 16, 17: 16} {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprint(i, ";r=1"))
		}
		assert.Len(t, Quotas(map[string][]string{"Ratelimit": {strings.Join(items, ",")}}, time.Now), want)
		assert.Len(t, Quotas(map[string][]string{"Ratelimit": items}, time.Now), want)
	}
}

// A header of 10 MB costs less than 10 ms.
func BenchmarkQuotasOf10MB(b *testing.B) {
	for kind, h := range hostile(10) {
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				Quotas(h, time.Now)
			}
		})
	}
}

// Whatever a service sends, what is read are numbers that can be.
func FuzzHeaders(f *testing.F) {
	names := []string{"Ratelimit", "Ratelimit-Policy", "Date", "Content-Type"}
	for _, forms := range headers {
		for _, form := range forms {
			names = append(names, strings.Replace(form, "*", "Tokens", 1))
		}
	}
	f.Add(uint8(4), "60", uint8(5), "5", uint8(7), "1691591363", uint8(20), "core")
	f.Add(uint8(0), `"default";r=50;t=30;pk=:a:`, uint8(1), `"default";q=100;w=60;qu="concurrent-requests"`, uint8(2), "Sun, 22 Nov 2026 12:00:00 GMT", uint8(7), "7")
	f.Add(uint8(14), "100;w=21600", uint8(15), "96;w=21600", uint8(22), "a", uint8(3), "")
	f.Add(uint8(8), "-1", uint8(9), "1e12", uint8(10), "6m0s", uint8(2), "x")
	f.Add(uint8(11), "1", uint8(12), "2", uint8(13), "2025-06-02T15:14:45Z", uint8(0), "limit=100, remaining=50, reset=30")
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, a uint8, x string, b uint8, y string, c uint8, z string, d uint8, w string) {
		h, n := map[string][]string{}, uint8(len(names))
		h[names[a%n]], h[names[b%n]], h[names[c%n]], h[names[d%n]] = []string{x}, []string{y}, []string{z}, []string{w}
		for _, r := range Quotas(h, func() time.Time { return now }) {
			if r.Name == "" || !r.Valid() || r.Limit < 0 && r.Limit != -1 || r.Reset < -1 {
				t.Errorf("%q: %+v", h, r)
			}
		}
	})
}
