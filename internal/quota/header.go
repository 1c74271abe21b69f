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

// headers are the headers with each part of a report. Of two with the same part the first counts. A * stands
// for the name of a quota that comes back evenly. The others are whole at their reset.
var headers = [][]string{
	// GitHub, Discord, Atlassian; the IETF's drafts up to 06, GitLab, Docker; HubSpot; OpenAI, Azure; Anthropic
	limitPart:        {"X-Ratelimit-Limit", "Ratelimit-Limit", "X-Hubspot-Ratelimit-Max", "X-Ratelimit-Limit-*", "Anthropic-Ratelimit-*-Limit"},
	leftPart:         {"X-Ratelimit-Remaining", "Ratelimit-Remaining", "X-Hubspot-Ratelimit-Remaining", "X-Ratelimit-Remaining-*", "Anthropic-Ratelimit-*-Remaining"},
	resetPart:        {"X-Ratelimit-Reset-After", "X-Ratelimit-Reset", "Ratelimit-Reset", "X-Ratelimit-Reset-*", "Anthropic-Ratelimit-*-Reset"},
	millisecondsPart: {"X-Hubspot-Ratelimit-Interval-Milliseconds"},
	keyPart:          {"X-Ratelimit-Resource", "X-Ratelimit-Bucket", "Ratelimit-Name", "Ratelimit-Reason"},
}

const (
	// The most names of a header with quotas, and the most bytes of a header's value that are read. Our choice:
	// real answers have some 40 names.
	mostNames = 256
	mostBytes = 4096
	// The smallest epochs, of 2001 in seconds and 1973 in milliseconds; a smaller number is a delay.
	epoch             = 1e9
	epochMilliseconds = 1e11
)

// Read returns what the header of an answer reports, nil if it reports no quota. The names are as
// http.Header has them. A date counts from the answer's own Date, since the service's clock may
// differ from ours, or from now if there is no Date.
func Read(header map[string][]string, now func() time.Time) []Report {
	if len(header) > mostNames {
		return nil
	}
	for name := range header { // most answers have no report, and must cost little
		if strings.Contains(name[:min(len(name), nameSize)], "Ratelimit") {
			return (&reader{header: header, now: now().Truncate(time.Second)}).read()
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
	for part, forms := range headers {
		for _, form := range forms {
			if before, after, named := strings.Cut(form, "*"); named {
				h.buckets(part, before, after)
			} else if len(h.header[form]) > 0 {
				h.put("", part, h.get(form))
			}
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

// buckets reads a part of each bucket, whose name stands between two texts.
func (h *reader) buckets(part int, before, after string) {
	for name := range h.header {
		quota, starts := strings.CutPrefix(name, before)
		quota, ends := strings.CutSuffix(quota, after)
		// Anthropic's tokens are a sum, or the tightest of the others.
		if starts && ends && name != "X-Ratelimit-Reset-After" && name != "Anthropic-Ratelimit-Tokens"+after {
			quota = strings.ToLower(Cleaned(quota))
			h.put(quota, part, h.get(name))
			h.of(quota).Bucket = true
		}
	}
}

// get returns a header's first values as one, up to mostBytes.
func (h *reader) get(name string) string {
	values := slices.Clone(h.header[name][:min(len(h.header[name]), most)])
	for i, v := range values {
		values[i] = v[:min(len(v), mostBytes)]
	}
	all := strings.Join(values, ",")
	return all[:min(len(all), mostBytes)]
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
	case r.Reset < 0 && part == millisecondsPart:
		r.Reset = duration(number(value) / 1000)
	}
}

var draft07 = map[string]int{"limit": limitPart, "remaining": leftPart, "reset": resetPart}

// drafts reads RateLimit and RateLimit-Policy of the IETF's drafts from 07 on.
func (h *reader) drafts() {
	for _, item := range items(h.get("Ratelimit")) {
		word, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		if part, is := draft07[word]; is {
			h.put("", part, value)
			continue
		}
		name := nameOf(item)
		h.put(name, leftPart, parameter(item, "r"))
		h.put(name, resetPart, parameter(item, "t"))
		if key := parameter(item, "pk"); key != "" {
			h.put(name, keyPart, name+" "+key)
		}
	}
	for _, item := range items(h.get("Ratelimit-Policy")) {
		h.policy(item)
	}
}

// policy reads the limit of a quota, and what it counts.
func (h *reader) policy(item string) {
	name, unit := nameOf(item), strings.Trim(parameter(item, "qu"), `"`)
	if unit == "concurrent-requests" {
		h.of(name).InFlight = true
	}
	for i := range h.reports {
		if r := &h.reports[i]; r.Name == name || r.Name == name+" "+parameter(item, "pk") {
			r.Amounts = unit != "" && !strings.HasSuffix(unit, "requests") && unit != "request"
			h.put(r.Name, limitPart, parameter(item, "q"))
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
	value, _, _ = strings.Cut(value, ";")
	value, _, _ = strings.Cut(value, ",")
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
