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

// row is a header with one part of a report.
type row struct {
	name string
	part int
}

// windows are the headers of quotas that are whole at their reset. Of two with the same part the first
// counts.
var windows = []row{
	{"X-Ratelimit-Limit", limitPart}, // GitHub, Discord, Atlassian
	{"X-Ratelimit-Remaining", leftPart},
	{"X-Ratelimit-Reset-After", resetPart},
	{"X-Ratelimit-Reset", resetPart},
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

// buckets are the headers of quotas that come back evenly. A * stands for the quota's name.
var buckets = []row{
	{"X-Ratelimit-Limit-*", limitPart}, // OpenAI, Azure
	{"X-Ratelimit-Remaining-*", leftPart},
	{"X-Ratelimit-Reset-*", resetPart},
	{"Anthropic-Ratelimit-*-Limit", limitPart},
	{"Anthropic-Ratelimit-*-Remaining", leftPart},
	{"Anthropic-Ratelimit-*-Reset", resetPart},
}

// The most names of a header with quotas, and the most bytes of a header's value that are read. Our choice:
// real answers have some 40 names.
const (
	mostNames = 256
	mostBytes = 4096
)

// Read returns what the header of an answer reports, nil if it reports no quota. The names are as
// http.Header has them. A date counts from the answer's own Date, since the service's clock may
// differ from ours, or from now if there is no Date.
func Read(header map[string][]string, now func() time.Time) []Report {
	if len(header) > mostNames {
		return nil
	}
	for name := range header {
		if len(name) < len("Ratelimit") {
			continue
		}
		switch name[0] { // most answers have no report, and must cost little
		case 'X', 'R', 'A':
			if strings.Contains(name[:min(len(name), nameSize)], "Ratelimit") {
				return (&reader{header: header, now: now().Truncate(time.Second)}).read()
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
	for name := range h.header {
		h.bucket(name)
	}
	for _, row := range windows {
		if len(h.header[row.name]) > 0 {
			h.put("", row.part, h.get(row.name))
		}
	}
	for i := range h.reports {
		r := &h.reports[i]
		r.Name = cmp.Or(Cleaned(r.Name), "requests")
		r.Amounts = r.Amounts || strings.Contains(r.Name, "token") || r.Name == "graphql"
		if r.Reset < 0 { // Docker
			r.Reset = duration(number(parameter(h.get("Ratelimit-Limit"), "w")))
		}
	}
	return slices.DeleteFunc(h.reports, func(r Report) bool { return !r.Valid() })
}

// bucket reads the part of a bucket that a header may have.
func (h *reader) bucket(name string) {
	for _, row := range buckets {
		before, after, _ := strings.Cut(row.name, "*")
		quota, starts := strings.CutPrefix(name, before)
		quota, ends := strings.CutSuffix(quota, after)
		if !starts || !ends || name == "X-Ratelimit-Reset-After" || quota == "Tokens" && before == "Anthropic-Ratelimit-" { // a sum, or the tightest of the others
			continue
		}
		quota = strings.ToLower(Cleaned(quota))
		h.put(quota, row.part, h.get(name))
		h.of(quota).Bucket = true
	}
}

// get returns a header's values as one, up to mostBytes.
func (h *reader) get(name string) string {
	var all string
	for i, v := range h.header[name] {
		if all += v[:min(len(v), mostBytes)]; len(all) >= mostBytes || i == most {
			break
		}
		if i < len(h.header[name])-1 {
			all += ","
		}
	}
	return all
}

// of is the report with the name, one that is not returned if there are too many.
func (h *reader) of(name string) *Report {
	i := slices.IndexFunc(h.reports, func(r Report) bool { return r.Name == name })
	if i < 0 {
		empty := Report{Name: name, Limit: -1, Left: -1, Reset: -1}
		if i = len(h.reports); i == most {
			return &empty
		}
		h.reports = append(h.reports, empty)
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
	for _, item := range items(h.get("Ratelimit")) {
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
	for _, item := range items(h.get("Ratelimit-Policy")) {
		h.policy(item)
	}
}

// policy reads the limit of a quota, and what it counts.
func (h *reader) policy(item string) {
	name, unit := nameOf(item), strings.Trim(parameter(item, "qu"), `"`)
	i := slices.IndexFunc(h.reports, func(r Report) bool {
		return r.Name == name || r.Name == name+" "+parameter(item, "pk")
	})
	switch {
	case unit == "concurrent-requests":
		r := h.of(name)
		r.InFlight, r.Limit = true, number(parameter(item, "q"))
	case i >= 0:
		r := &h.reports[i]
		r.Amounts = unit != "" && unit != "requests" && unit != "request"
		if r.Limit < 0 {
			r.Limit = number(parameter(item, "q"))
		}
	}
}

// items are the first items of a list, as many as there may be quotas.
func items(list string) []string {
	all := strings.SplitN(list, ",", most+1)
	return all[:min(len(all), most)]
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

// duration is a number of seconds, -1 if it is negative; more than the longest is too long.
func duration(seconds float64) time.Duration {
	if !(seconds >= 0) {
		return -1
	}
	return time.Duration(math.Round(min(seconds, 2*longest.Seconds()) * float64(time.Second)))
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
