package quota

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
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
			Reports []Report
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
		assert.ElementsMatch(t, c.Reports, Read(h, func() time.Time { return time.Time{} }), c.Source)
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
	requests := Report{Name: "requests", Limit: 60, Left: 5, Reset: 30 * time.Second}
	unlimited, later, own, both := requests, requests, requests, requests
	unlimited.Limit, later.Reset = -1, 40*time.Second
	own.Name = "search"
	both.Name = "burst"
	for name, c := range map[string]struct {
		header http.Header
		want   []Report
	}{
		"none":                     {of("Content-Type: text/plain", "X-Request-Id: 1", "Age: 7", "Retry-After: 7"), nil},
		"of the service itself":    {of("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5", "X-RateLimit-Reset: 30"), []Report{requests}},
		"a key":                    {of("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5", "X-RateLimit-Reset: 30", "X-RateLimit-Resource: search"), []Report{own}},
		"an epoch without a Date":  {of("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5", fmt.Sprint("X-RateLimit-Reset: ", now.Unix()+30)), []Report{requests}},
		"an epoch in milliseconds": {of("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5", fmt.Sprint("X-RateLimit-Reset: ", now.UnixMilli()+30_000)), []Report{requests}},
		"another clock": {of("Date: Sun, 22 Nov 2026 11:59:50 GMT", "X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5",
			fmt.Sprint("X-RateLimit-Reset: ", now.Unix()+30)), []Report{later}},
		"a date":               {of("X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 5", "X-RateLimit-Reset: Sun, 22 Nov 2026 12:00:30 GMT"), []Report{requests}},
		"no limit":             {of("RateLimit-Remaining: 5", "RateLimit-Reset: 30"), []Report{unlimited}},
		"several limits":       {of("RateLimit-Limit: 60, 10;w=1, 60;w=60", "RateLimit-Remaining: 5", "RateLimit-Reset: 30"), []Report{requests}},
		"a draft's policy":     {of(`RateLimit-Policy: "burst";q=60;w=60, "daily";q=1000;w=86400`, `RateLimit: "burst";r=5;t=30`), []Report{both}},
		"tokens for names":     {of("RateLimit-Policy: burst;q=60;w=60", "RateLimit: burst;r=5;t=30"), []Report{both}},
		"no number":            {of("X-RateLimit-Limit: sixty", "X-RateLimit-Remaining: five", "X-RateLimit-Reset: soon"), nil},
		"numbers that are not": {of("X-RateLimit-Limit: NaN", "X-RateLimit-Remaining: Inf", "X-RateLimit-Reset: 1e300"), nil},
		"a limit alone":        {of("X-RateLimit-Limit: 60"), nil},
		"a key alone":          {of("X-RateLimit-Resource: core"), nil},
		"a malformed draft":    {of(`RateLimit: "a;r=;t=5,;;=,"`, "RateLimit-Policy: ;;,,=;qu"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, append([]Report(nil), Read(c.header, func() time.Time { return now })...))
		})
	}
}

// An answer that reports nothing costs no allocation.
func TestNoReportNoAllocation(t *testing.T) {
	h := http.Header{"Content-Type": {"text/plain"}, "X-Request-Id": {"1"}, "Age": {"7"}, "Date": {"Sun, 22 Nov 2026 12:00:00 GMT"}}
	assert.Zero(t, testing.AllocsPerRun(100, func() { Read(h, time.Now) }))
}

// Whatever a service sends, what is read are numbers that can be.
func FuzzRead(f *testing.F) {
	names := []string{"Ratelimit", "Ratelimit-Policy", "Date", "Content-Type"}
	for _, h := range headers {
		names = append(names, strings.Replace(h.form, "*", "Tokens", 1))
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
		for _, r := range Read(h, func() time.Time { return now }) {
			if r.Name == "" || !r.valid() || r.Limit < 0 && r.Limit != -1 || r.Reset < -1 {
				t.Errorf("%q: %+v", h, r)
			}
		}
	})
}

// model is a service with a quota, and the requests on their way.
type model struct {
	Quotas
	// bucket: the quota comes back at a rate, and not all at the end of a window.
	bucket    bool
	now, full time.Duration
	left      float64
	refused   int
	number    uint64
	sent      time.Duration
	// on their way to the service, and the answers on their way back
	there []uint64
	back  []returning
}

type returning struct {
	Answer
	left time.Duration
}

const (
	modelLimit  = 20
	modelWindow = 10 * time.Second
	// modelDelay is how long an answer takes at most. If it took longer, its reset would seem later by more
	// than resets in whole seconds differ.
	modelDelay = exact
)

// step does one thing: time passes, a request goes if it may, the service serves one, or an answer comes.
// The service and the answers take the requests in any order.
func (m *model) step(what, which uint8, lie bool) {
	switch what % 4 {
	case 0:
		until := m.now + time.Duration(which)*10*time.Millisecond
		for len(m.back) > 0 && m.back[0].left+modelDelay < until {
			m.now = max(m.now, m.back[0].left+modelDelay)
			m.answered(0)
		}
		m.now = until
	case 1:
		if due := m.Due(m.now, m.sent, len(m.there)+len(m.back), int(which)); due <= m.now {
			m.number++
			m.sent = m.now
			m.Sent(m.now, m.number)
			m.there = append(m.there, m.number)
		}
	case 2:
		if len(m.there) > 0 {
			i := int(which) % len(m.there)
			m.back = append(m.back, returning{m.served(m.there[i], lie), m.now})
			m.there = append(m.there[:i], m.there[i+1:]...)
		}
	case 3:
		if len(m.back) > 0 {
			m.answered(int(which) % len(m.back))
		}
	}
}

func (m *model) answered(i int) {
	a := m.back[i].Answer
	m.back = append(m.back[:i], m.back[i+1:]...)
	m.Answered(m.now, a)
	m.Ended(a.Number, !a.Refused)
}

func (m *model) served(number uint64, lie bool) Answer {
	const back = modelLimit / float64(modelWindow)
	switch {
	case m.bucket:
		m.left = modelLimit - back*float64(max(0, m.full-m.now))
	case m.now >= m.full:
		m.left, m.full = modelLimit, m.now-m.now%modelWindow+modelWindow
	}
	a := Answer{Number: number, Refused: m.left < 1}
	if a.Refused {
		m.refused++
	} else if m.left--; m.bucket {
		m.full = max(m.full, m.now) + modelWindow/modelLimit
	}
	r := Report{Name: "requests", Limit: modelLimit, Left: math.Floor(m.left), Reset: m.full - m.now}
	if lie {
		any := []float64{math.NaN(), math.Inf(1), -1, 0, 1e308, m.left, float64(m.now)}
		r.Limit, r.Left = any[m.number%7], any[(m.number+uint64(max(0, m.left)))%7]
		r.Reset = time.Duration(any[uint64(m.now)%7])
	}
	a.Reports = []Report{r}
	return a
}

// wrong is what does not hold after a step, "" if all does. It costs little: a run has many steps.
func (m *model) wrong() string {
	flying := len(m.there) + len(m.back)
	switch due := m.Due(m.now, m.sent, flying, 1); {
	case due < 0 || due > m.now+longest+3*exact:
		return fmt.Sprintf("the next request may go at %v", due)
	case len(m.begun) > flying:
		return fmt.Sprintf("%d answers have begun of %d requests", len(m.begun), flying)
	case len(m.all) > most:
		return fmt.Sprintf("%d quotas", len(m.all))
	}
	for i := range m.all {
		d := &m.all[i]
		use, left := d.use(0), d.left(m.now)
		if !(use >= 1 && left-left == 0 && d.rate >= 0) {
			return fmt.Sprintf("a request spends %v of %v, %v comes back in a second", use, left, d.rate)
		}
	}
	return ""
}

// A client that is alone and reads the truth is hardly refused once it has read a report, whatever the order
// of the answers; whatever it reads, each wait is a time. The steps are drawn from a seed: with bytes for the
// steps Go's fuzzing spends nearly all of its time on making an input of new coverage shorter.
func FuzzQuotas(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, uint16(500), seed%2 == 0, seed%4 < 2)
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16, lie, bucket bool) {
		r, m := rand.New(rand.NewPCG(seed, 1)), &model{bucket: bucket}
		// The first answer shows the quota.
		m.step(1, 1, false)
		m.step(2, 0, false)
		m.step(3, 0, false)
		for range steps % 1000 {
			m.step(uint8(r.Uint32()), uint8(r.Uint32()), lie)
			if wrong := m.wrong(); wrong != "" {
				t.Fatal(wrong)
			}
		}
		if !lie && m.refused > 5 { // a window may seem to be a bucket, if the answers take up to a second
			t.Fatalf("%d refused", m.refused)
		}
	})
}
