package quota

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The parts of a report that a header may have.
const (
	limitPart = iota
	leftPart
	resetPart
	millisecondsPart // the time until all is back
	keyPart          // the quota's name, which is a key
)

// headers are the headers with one part of a report. A * stands for the quota's name. Of two with
// the same part the first counts.
var headers = []struct {
	form string
	part int
}{
	{"X-Ratelimit-Limit", limitPart}, // GitHub, Discord, Atlassian
	{"X-Ratelimit-Remaining", leftPart},
	{"X-Ratelimit-Reset-After", resetPart},
	{"X-Ratelimit-Reset", resetPart},
	{"X-Ratelimit-Limit-*", limitPart}, // OpenAI, Azure
	{"X-Ratelimit-Remaining-*", leftPart},
	{"X-Ratelimit-Reset-*", resetPart},
	{"Anthropic-Ratelimit-*-Limit", limitPart},
	{"Anthropic-Ratelimit-*-Remaining", leftPart},
	{"Anthropic-Ratelimit-*-Reset", resetPart},
	{"Ratelimit-Limit", limitPart}, // the IETF's drafts up to 06, GitLab, Docker
	{"Ratelimit-Remaining", leftPart},
	{"Ratelimit-Reset", resetPart},
	{"X-Hubspot-Ratelimit-Max", limitPart},
	{"X-Hubspot-Ratelimit-Remaining", leftPart},
	{"X-Hubspot-Ratelimit-Interval-Milliseconds", millisecondsPart},
	{"X-Ratelimit-Resource", keyPart},
	{"X-Ratelimit-Bucket", keyPart},
	{"Ratelimit-Name", keyPart},
	{"Ratelimit-Reason", keyPart},
}

// Read returns what the header of an answer reports, nil if it reports no quota. The names are as
// http.Header has them. A date counts from the answer's own Date, since the service's clock may
// differ from ours, or from now if there is no Date.
func Read(header map[string][]string, now func() time.Time) []Report {
	for name := range header {
		if len(name) < len("Ratelimit") {
			continue
		}
		switch name[0] { // most answers have no report, and must cost little
		case 'X', 'R', 'A':
			if strings.Contains(name, "Ratelimit") {
				return (&reader{header: header, now: now()}).read()
			}
		}
	}
	return nil
}

type reader struct {
	header  map[string][]string
	now     time.Time
	reports []Report
}

func (h *reader) read() []Report {
	if date, err := time.Parse(httpDate, h.get("Date")); err == nil {
		h.now = date
	}
	h.drafts()
	for _, row := range headers {
		before, after, named := strings.Cut(row.form, "*")
		for name := range h.header {
			switch {
			case name == row.form:
				h.put("", row.part, h.get(name))
			case !named, !strings.HasPrefix(name, before), !strings.HasSuffix(name[len(before):], after):
			case name == "Anthropic-Ratelimit-Tokens"+after: // a sum, or the tightest of the others
			default:
				h.put(strings.ToLower(strings.TrimSuffix(name[len(before):], after)), row.part, h.get(name))
			}
		}
	}
	h.reports = slices.DeleteFunc(h.reports, func(r Report) bool { return !r.valid() })
	for i := range h.reports {
		r := &h.reports[i]
		r.Name = cmp.Or(r.Name, "requests")
		if r.Reset < 0 { // Docker
			r.Reset = duration(number(parameter(h.get("Ratelimit-Limit"), "w")))
		}
	}
	return h.reports
}

func (h *reader) get(name string) string { return strings.Join(h.header[name], ",") }

// of is the report with the name.
func (h *reader) of(name string) *Report {
	i := slices.IndexFunc(h.reports, func(r Report) bool { return r.Name == name })
	if i < 0 {
		i = len(h.reports)
		h.reports = append(h.reports, Report{Name: name, Limit: -1, Left: -1, Reset: -1})
	}
	return &h.reports[i]
}

// put puts a part into a report that does not have this part yet.
func (h *reader) put(name string, part int, value string) {
	r := h.of(name)
	switch {
	case part == keyPart && value != "":
		r.Name = value
	case part == limitPart && r.Limit < 0:
		r.Limit = number(value)
	case part == leftPart && r.Left < 0:
		r.Left = number(value)
	case part == resetPart && r.Reset < 0:
		r.Reset = h.reset(value)
	case part == millisecondsPart && r.Reset < 0:
		r.Reset = duration(number(value) / 1000)
	}
}

// drafts reads RateLimit and RateLimit-Policy of the IETF's drafts from 07 on.
func (h *reader) drafts() {
	for _, item := range strings.Split(h.get("Ratelimit"), ",") {
		switch part, value, _ := strings.Cut(strings.TrimSpace(item), "="); part { // draft 07
		case "limit":
			h.put("", limitPart, value)
		case "remaining":
			h.put("", leftPart, value)
		case "reset":
			h.put("", resetPart, value)
		default:
			name := nameOf(item)
			h.put(name, leftPart, parameter(item, "r"))
			h.put(name, resetPart, parameter(item, "t"))
			if key := parameter(item, "pk"); key != "" {
				h.put(name, keyPart, name+" "+key)
			}
		}
	}
	for _, item := range strings.Split(h.get("Ratelimit-Policy"), ",") {
		i := slices.IndexFunc(h.reports, func(r Report) bool {
			return r.Name == nameOf(item) || r.Name == nameOf(item)+" "+parameter(item, "pk")
		})
		switch {
		case strings.Trim(parameter(item, "qu"), `"`) == "concurrent-requests":
			r := h.of(nameOf(item))
			r.InFlight, r.Limit = true, number(parameter(item, "q"))
		case i >= 0 && h.reports[i].Limit < 0:
			h.reports[i].Limit = number(parameter(item, "q"))
		}
	}
}

// nameOf is the name of an item of a draft's list, a string or a token, without its parameters.
func nameOf(item string) string {
	name, _, _ := strings.Cut(item, ";")
	return strings.Trim(strings.TrimSpace(name), `"`)
}

// parameter is the value of an item's parameter, "" without it: the 60 of `"burst";q=100;w=60`.
func parameter(item, name string) string {
	for _, p := range strings.Split(item, ";")[1:] {
		if key, value, ok := strings.Cut(strings.TrimSpace(p), "="); ok && key == name {
			return value
		}
	}
	return ""
}

// number reads a number up to its parameters, -1 if there is no number.
func number(value string) float64 {
	if i := strings.IndexAny(value, ";,"); i >= 0 {
		value = value[:i]
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || !(n >= 0) {
		return -1
	}
	return n
}

// duration is a number of seconds, -1 if it is negative or too large.
func duration(seconds float64) time.Duration {
	if !(seconds >= 0 && seconds <= longest.Seconds()) {
		return -1
	}
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// The smallest epochs, of 2001 in seconds and 1973 in milliseconds; a smaller number is a delay.
const (
	epoch             = 1e9
	epochMilliseconds = 1e11
)

const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"

// reset is the time until a reset: from a delay in seconds, an epoch in seconds or milliseconds, a
// duration as Go writes it, or a date.
func (h *reader) reset(value string) time.Duration {
	switch n := number(value); {
	case n >= epochMilliseconds:
		return h.until(time.UnixMilli(int64(n)))
	case n >= epoch:
		return h.until(time.UnixMicro(int64(n * 1e6)))
	case n >= 0:
		return duration(n)
	}
	if d, err := time.ParseDuration(value); err == nil {
		return duration(d.Seconds())
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", httpDate} {
		if at, err := time.Parse(layout, value); err == nil {
			return h.until(at)
		}
	}
	return -1
}

// until is the time until a date, 0 if it is over.
func (h *reader) until(at time.Time) time.Duration {
	return duration(max(0, at.Sub(h.now).Seconds()))
}

// Report is what an answer says of one quota.
type Report struct {
	// Name is the quota's: "requests", "tokens", or the service's own key.
	Name string
	// InFlight: the limit is for the requests in flight, and the other fields have no meaning.
	InFlight bool
	// Limit and Left are the whole quota and its rest; negative: not reported.
	Limit, Left float64
	// Reset is the time until the quota is whole again; negative: not reported.
	Reset time.Duration
}

// State is how a quota stands.
type State struct {
	Name        string
	Limit, Left float64
	// Back is when the quota is whole again, or when a refusal lets the next request go; 0: it is
	// not known.
	Back time.Duration
}

// Answer is the answer to a request, which has the number that it was sent with.
type Answer struct {
	Number     uint64
	Refused    bool
	RetryAfter time.Duration
	Reports    []Report
}

// The longest reset and the largest limit that are believed. Our choice: more is a mistake.
const (
	longest = 366 * 24 * time.Hour
	largest = 1e12
)

// valid reports whether a report says what is left, or what may be in flight, in numbers that can
// be.
func (r Report) valid() bool {
	if r.InFlight {
		return r.Limit >= 1 && r.Limit <= largest
	}
	return r.Left >= 0 && r.Left <= largest && r.Limit <= largest && r.Reset <= longest
}

// States returns how the quotas stand.
func (q *Quotas) States(now time.Duration) []State {
	var all []State
	for i := range q.all {
		all = append(all, q.all[i].state(now))
	}
	return all
}

func (d *quota) state(now time.Duration) State {
	s := State{Name: d.Name, Limit: d.Limit, Left: d.left(now), Back: max(d.closed, d.back)}
	switch {
	case d.rate > 0:
		s.Back = max(d.closed, now+d.after(d.Limit-s.Left))
	case d.back == never:
		s.Back = d.closed
	}
	return s
}
