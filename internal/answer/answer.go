// Package answer reads what an HTTP answer that is no success says beyond its status: when to send again,
// and which error of the service's API it is. Package attempt has the table of what that means.
package answer

import (
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Answer is an HTTP answer that is no success, or what an SDK says of one.
type Answer struct {
	Status int
	Header http.Header
	// After is the delay that the service asked for, in a header or in the body; 0 if it did not ask.
	After time.Duration
	// Reset is the time until a quota that is used up comes back, by the header X-RateLimit-Reset; 0
	// without that header, or if X-RateLimit-Remaining is not 0.
	Reset time.Duration
	// Text is the start of the body in lower case.
	Text string
	// Codes are the texts in the body under the keys "code", "type", "reason" and the like.
	Codes []string
	// Daily: the body names a quota of a day. Violation: it has Google's QuotaFailure, which has no code.
	// Soon: it has Google's RetryInfo, so the quota comes back soon.
	Daily, Violation, Soon bool
	// Within: the error came within an answer that had begun as a success, as an event of a stream.
	Within bool
}

// Held is an answer that an error has. The zero Held is none.
type Held struct{ answer *Answer }

// Hold returns a Held with the answer.
func Hold(a Answer) Held { return Held{&a} }

// Answer returns the answer, if there is one.
func (h Held) Answer() (Answer, bool) {
	if h.answer == nil {
		return Answer{}, false
	}
	return *h.answer, true
}

// Read reads an answer that came now. body is the start of its body.
func Read(status int, h http.Header, body []byte, now time.Time) Answer {
	a := Answer{Status: status, Header: h}
	a.After, _ = RetryAfter(h, now)
	if h.Get("X-Ratelimit-Remaining") == "0" {
		a.Reset, _ = moment(h.Get("X-Ratelimit-Reset"), h, now)
	}
	if Ambiguous(status) || success(status) {
		a.read(body)
	}
	return a
}

func success(status int) bool { return status >= 200 && status < 400 }

// Ambiguous reports a status that services give for too many requests now as well as for a quota that is
// used up: 429, with GitHub and Google's older APIs 403, and 402. The body has the difference.
func Ambiguous(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusForbidden || status == http.StatusPaymentRequired
}

func (a *Answer) read(body []byte) {
	a.Says(string(body))
	var document any
	if json.Unmarshal(body, &document) != nil {
		return
	}
	a.Collect(document)
	if object, _ := document.(map[string]any); success(a.Status) && object["error"] != nil {
		a.within()
	}
}

// within notes that the body of a success is an error. Some services have a status there.
func (a *Answer) within() {
	a.Within = true
	for _, code := range a.Codes {
		if status, err := strconv.Atoi(code); err == nil && status >= 400 && status < 600 {
			a.Status = status
		}
	}
}

// Says notes the words of the body, or the message that an SDK made of it.
func (a *Answer) Says(text string) {
	a.Text = strings.ToLower(text)
	a.Daily = a.Daily || daily.MatchString(a.Text)
}

// daily is how services say that the quota of a day is used up, OpenAI "on requests per day (RPD)".
var daily = regexp.MustCompile(`per day \([a-z]pd\)|daily_limit_exceeded`)

// deepest is how deep the document is searched: Google's codes are at four.
const deepest = 6

// Collect reads a part of the body that is JSON, as json.Unmarshal returns it.
func (a *Answer) Collect(value any) { a.collect(value, 0) }

func (a *Answer) collect(value any, depth int) {
	if depth > deepest {
		return
	}
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			a.collect(v, depth+1)
		}
	case map[string]any:
		for key, v := range value {
			switch v := v.(type) {
			case string:
				a.said(key, v)
			case float64:
				a.said(key, strconv.FormatFloat(v, 'f', -1, 64))
			default:
				a.collect(v, depth+1)
			}
		}
	}
}

func (a *Answer) said(key, text string) {
	switch key {
	case "@type":
		a.Violation = a.Violation || strings.HasSuffix(text, "/google.rpc.QuotaFailure")
		a.Soon = a.Soon || strings.HasSuffix(text, "/google.rpc.RetryInfo")
	case "quotaId", "quota_limit":
		a.Daily = a.Daily || strings.Contains(text, "PerDay")
	case "retryDelay":
		if d, err := time.ParseDuration(text); err == nil && a.After == 0 && d > 0 && d <= Longest {
			a.After = d
		}
	case "code", "type", "reason", "error", "__type", "errorCode":
		a.Codes = append(a.Codes, text)
	}
}

// Longest is the longest delay that is believed. Our choice: a longer one is a mistake, such as a Unix
// time instead of seconds. The limiter's setting bounds how much of a delay is obeyed.
const Longest = 365 * 24 * time.Hour

// inMilliseconds are headers of AWS and Azure. They are more exact than Retry-After, so they come first.
var inMilliseconds = [...]string{"X-Amz-Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms"}

// RetryAfter is httplimit.RetryAfter.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	for _, name := range inMilliseconds {
		if d, ok := delay(h.Get(name), time.Millisecond); ok {
			return d, true
		}
	}
	v := h.Get("Retry-After")
	if d, ok := delay(v, time.Second); ok {
		return d, true
	}
	if at, err := http.ParseTime(v); err == nil {
		return until(at, h, now)
	}
	return moment(h.Get("X-Ratelimit-Retryafter"), h, now)
}

// delay reads a number of units, which may have a fraction: "Retry-After: 120", "Retry-After: 1.5".
func delay(s string, unit time.Duration) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n > float64(Longest/unit) {
		return 0, false
	}
	return time.Duration(math.Round(n * float64(unit))), true
}

// moment reads a delay in seconds, or a Unix time in seconds or milliseconds: a number of seconds that is
// more than the longest delay is a time.
func moment(s string, h http.Header, now time.Time) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	switch {
	case err != nil, !(n >= 0 && n < 1e15):
		return 0, false
	case n <= Longest.Seconds():
		return delay(s, time.Second)
	case n >= 1e11: // in milliseconds, from 1973
		n /= 1000
	}
	return until(time.Unix(0, int64(n*float64(time.Second))), h, now)
}

// until is the time from the answer's own Date, since its clock may differ, or from now without a Date.
func until(at time.Time, h http.Header, now time.Time) (time.Duration, bool) {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	d := max(0, at.Sub(now))
	if d > Longest {
		return 0, false
	}
	return d, true
}
