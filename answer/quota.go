package answer

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Quota is the report of an answer about one quota of the service. docs/quota.md has the rules by which a limiter
// obeys it.
type Quota struct {
	// Name is "requests", "tokens", or the service's own key. The first 64 printable bytes of a name are kept, and
	// the first 16 names.
	Name string
	// Limit and Left are the whole quota and its rest, from 0 to 1e12, in the service's unit. A negative Limit: the
	// answer does not say. A Limit from 0 to below 1 is no report.
	Limit, Left float64
	// Reset is the time until the quota is whole again, at most a day. Negative: the answer does not say, so
	// the quota is no reason to wait.
	Reset time.Duration
	// Bucket: the quota comes back evenly until Reset. Without Bucket the whole quota comes back at Reset.
	Bucket bool
	// Amounts: a request spends other amounts than 1, such as tokens. The limiter learns the mean.
	Amounts bool
	// InFlight: Limit is the greatest number of requests in flight, and the other fields have no meaning. The next
	// answer without such a report lifts the bound. A report with the word for it in its name is one.
	InFlight bool
}

// Head is the head of an answer that reports quotas.
type Head struct {
	// Refused: the answer is a refusal, and with Stop one for everybody.
	Refused, Stop bool
	// RetryAfter is the service's Retry-After, 0 without one.
	RetryAfter time.Duration
	Reports    []Quota
}

// The longest reset, the largest number and the longest name that are believed, and the most quotas of an answer. Our
// choice: a service that says more is mistaken.
const (
	longestReset = 24 * time.Hour
	largest      = 1e12
	nameSize     = 64
	mostQuotas   = 16
)

// Valid reports whether a report has a possible number of requests left or in flight.
func (q Quota) Valid() bool {
	if q.InFlight {
		return q.Limit >= 1 && q.Limit <= largest
	}
	return q.Left >= 0 && q.Left <= largest && (q.Limit < 0 || q.Limit >= 1 && q.Limit <= largest) && q.Reset <= longestReset
}

// Cleaned is a quota's name in valid UTF-8 that can be printed, of 64 bytes at most.
func Cleaned(name string) string {
	if len(name) > nameSize {
		name = name[:nameSize]
	}
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
}

// The parts of a report that a header may have.
const (
	limitPart = iota
	leftPart
	resetPart
	keyPart // the quota's name, which is a key
)

// headers are the headers with each part of a report, also with "Rate-Limit" for "Ratelimit" (Okta, X). Of two with the
// same part the first counts. A * stands for the name of a quota that comes back evenly. The others are whole at their
// reset.
var headers = [][]string{
	// GitHub, Discord, Atlassian; the IETF's drafts up to 06, GitLab, Docker; HubSpot; OpenAI, Azure; Anthropic
	limitPart: {"X-Ratelimit-Limit", "Ratelimit-Limit", "X-Hubspot-Ratelimit-Max", "X-Ratelimit-Limit-*", "Anthropic-Ratelimit-*-Limit"},
	leftPart:  {"X-Ratelimit-Remaining", "Ratelimit-Remaining", "X-Hubspot-Ratelimit-Remaining", "X-Ratelimit-Remaining-*", "Anthropic-Ratelimit-*-Remaining"},
	resetPart: {"X-Ratelimit-Reset-After", "X-Ratelimit-Reset", "Ratelimit-Reset", "X-Ratelimit-Reset-*", "Anthropic-Ratelimit-*-Reset"},
	keyPart:   {"X-Ratelimit-Resource", "X-Ratelimit-Bucket", "Ratelimit-Name", "Ratelimit-Reason"},
}

// mostNames is the most names of a header with quotas. Our choice: real answers have some 40.
const mostNames = 256

// Quotas returns the quotas that the header of an answer reports; nil without a report. The names are as
// http.Header has them. now is called only if there is a report.
func Quotas(header map[string][]string, now func() time.Time) []Quota {
	if !reports(header) { // most answers have no report, and must cost little
		return nil
	}
	all, _ := reported(clock{header: header, now: now()})
	return all
}

func reports(header map[string][]string) bool {
	if len(header) > mostNames {
		return false
	}
	for name := range header {
		if start := name[:min(len(name), nameSize)]; strings.Contains(start, "Ratelimit") || strings.Contains(start, "Rate-Limit") {
			return true
		}
	}
	return false
}

type quotas struct {
	clock
	reports []Quota
}

// reported reads the reports, and the time until all used quotas are whole again; 0 without a used quota. A quota that
// comes back evenly does not report that time.
func reported(c clock) (all []Quota, whole time.Duration) {
	c.now = c.now.Truncate(time.Second)
	h := &quotas{clock: c}
	h.drafts()
	for part, forms := range headers {
		for _, form := range forms {
			if before, after, named := strings.Cut(form, "*"); named {
				h.buckets(part, before, after)
			} else if len(h.values(form)) > 0 {
				h.put("", part, h.get(form))
			}
		}
	}
	for i := range h.reports {
		r := &h.reports[i]
		r.Name = cmp.Or(Cleaned(r.Name), "requests")
		r.InFlight = r.InFlight || slots(r.Name)
		r.Amounts = r.Amounts || strings.Contains(r.Name, "token") || r.Name == "graphql"
		if r.Left == 0 && !r.Bucket && !r.Amounts && !r.InFlight && r.Reset <= longestReset {
			whole = max(whole, r.Reset)
		}
		if r.Reset < 0 { // Docker; HubSpot
			r.Reset = max(h.reset(parameter(h.get("Ratelimit-Limit"), "w")), h.reset(h.get("X-Hubspot-Ratelimit-Interval-Milliseconds")+"ms"))
		}
	}
	return slices.DeleteFunc(h.reports, func(r Quota) bool { return !r.Valid() }), whole
}

// slots reports the name of a bound on requests in flight: the rest of such a bound is no reason to wait.
func slots(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "concurren") || strings.Contains(name, "slots") || strings.Contains(name, "inflight") || strings.Contains(name, "in-flight")
}

// hyphened is a name as Okta and X write it.
func hyphened(name string) string { return strings.Replace(name, "Ratelimit", "Rate-Limit", 1) }

// buckets reads a part of each bucket, whose name stands between two texts.
func (h *quotas) buckets(part int, before, after string) {
	for name := range h.header {
		quota, starts := strings.CutPrefix(name, before)
		if !starts {
			quota, starts = strings.CutPrefix(name, hyphened(before))
		}
		quota, ends := strings.CutSuffix(quota, after)
		// Anthropic's tokens are a sum, or the tightest of the others.
		if starts && ends && name != "X-Ratelimit-Reset-After" && name != "Anthropic-Ratelimit-Tokens"+after {
			if quota = strings.ToLower(Cleaned(quota)); h.room(quota) { // before its value is read
				h.put(quota, part, h.get(name))
				h.of(quota).Bucket = true
			}
		}
	}
}

func (h *quotas) values(name string) []string {
	if v := h.header[name]; len(v) > 0 {
		return v
	}
	return h.header[hyphened(name)]
}

// get returns a header's first values as one, up to mostBytes.
func (h *quotas) get(name string) string {
	values := h.values(name)
	values = slices.Clone(values[:min(len(values), mostValues)])
	for i, v := range values {
		values[i] = v[:min(len(v), mostBytes)]
	}
	all := strings.Join(values, ",")
	return all[:min(len(all), mostBytes)]
}

func (h *quotas) room(name string) bool {
	return len(h.reports) < mostQuotas || slices.ContainsFunc(h.reports, func(r Quota) bool { return r.Name == name })
}

// of is the report with the name. If there are too many reports, it is a report that is not returned.
func (h *quotas) of(name string) *Quota {
	i := slices.IndexFunc(h.reports, func(r Quota) bool { return r.Name == name })
	if i < 0 {
		empty := Quota{Name: name, Limit: -1, Left: -1, Reset: -1}
		if i = len(h.reports); i == mostQuotas {
			return &empty
		}
		h.reports = append(h.reports, empty)
	}
	return &h.reports[i]
}

// put puts a part into a report that does not have this part yet.
func (h *quotas) put(name string, part int, value string) {
	r := h.of(name)
	switch {
	case part == keyPart && value != "":
		r.Name = value
	case part == limitPart && r.Limit < 0:
		r.Limit = first(value)
	case part == leftPart && r.Left < 0:
		r.Left = least(value)
	case part == resetPart && r.Reset < 0:
		r.Reset = h.reset(value)
	}
}

// first is the number with which a value begins, -1 without a number. What follows it are the drafts' policies.
func first(value string) float64 {
	value, _, _ = strings.Cut(value, ",")
	value, _, _ = strings.Cut(value, ";")
	if n, ok := number(value); ok {
		return n
	}
	return -1
}

// least is the least of a value's numbers: a gateway and the service behind it add theirs.
func least(value string) float64 {
	n := first(value)
	for _, part := range items(value) {
		if m := first(part); m >= 0 {
			n = min(n, m)
		}
	}
	return n
}

// reset is the time until the latest of a value's resets, -1 without a reset. A time that no quota has is too long.
func (h *quotas) reset(value string) time.Duration {
	value, _, _ = strings.Cut(value, ";")
	if d, ok := h.longest([]string{value}, time.Second); ok {
		return d
	}
	if first(value) >= 0 {
		return 2 * longestReset
	}
	return -1
}

var draft07 = map[string]int{"limit": limitPart, "remaining": leftPart, "reset": resetPart}

// drafts reads RateLimit and RateLimit-Policy of the IETF's drafts from 07 on.
func (h *quotas) drafts() {
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

// policy reads the limit of a quota, and its unit.
func (h *quotas) policy(item string) {
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
	all := strings.SplitN(list, ",", mostQuotas+1)
	return all[:min(len(all), mostQuotas)]
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
