package answer

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// longest is the longest time that is believed. Our choice: a longer time is a mistake. The limiter's setting
// bounds the part that is obeyed.
const longest = 365 * 24 * time.Hour

// times are the headers and the keys of documents that say when to come back. A number counts in the unit. Of the headers
// the first counts, since the more exact stand first; of several values of a header the longest. A key counts if no
// header does.
var times = []struct {
	header string
	keys   string // folded
	unit   time.Duration
}{
	{"X-Amz-Retry-After", "", time.Millisecond},   // Amazon S3
	{"Retry-After-Ms", "", time.Millisecond},      // Azure, OpenAI
	{"X-Ms-Retry-After-Ms", "", time.Millisecond}, // Azure Cosmos DB
	{"Retry-After", "", time.Second},              // RFC 9110, section 10.2.3
	{"X-Ratelimit-Retryafter", "", time.Second},   // Docker Hub
	{"X-Rate-Limit-Retry-After-Seconds", "", time.Second},
	{"", "retryafterms retryaftermillis retryaftermilliseconds", time.Millisecond},
	{"", "retryafter retryafterseconds retryaftersecs retryinseconds retryin", time.Second}, // Telegram, Discord, Slack
	{"", "retrydelay", time.Second},                                                         // Google's RetryInfo: "34s"
	{"", "resetsinseconds resetinseconds", time.Second},                                     // OpenAI
	{"", "resetat resetsat retryat", time.Second},                                           // an instant
}

// RetryAfter returns the wait that a header asks for, by the table of times. It returns false if the header does
// not ask, or if the time is malformed, negative or more than a year. An instant in the past is a wait of 0.
func RetryAfter(header map[string][]string, now time.Time) (time.Duration, bool) {
	c := clock{header: header, now: now}
	for i := range times {
		if name := times[i].header; name != "" {
			if d, ok := c.longest(header[name], times[i].unit); ok {
				return d, true
			}
		}
	}
	return 0, false
}

// told notes the value of a key of the document, by the row of times.
func (r *reader) told(row int, value string) {
	if r.tolds++; r.Wait > 0 || r.tolds > mostTold {
		return
	}
	if d, ok := r.instant(string(plain(nil, value, mostBytes)), times[row].unit); ok {
		r.Wait = d
	}
}

// clock is the time from which an instant counts: the answer's own Date, since the service's clock may differ from ours,
// or now if there is no Date.
type clock struct {
	header map[string][]string
	now    time.Time
}

func (c clock) date() time.Time {
	if d := c.header["Date"]; len(d) > 0 {
		if at, ok := parsed(d[0]); ok {
			return at
		}
	}
	return c.now
}

// mostValues and mostBytes bound the values of a header that are read, and each value's bytes. Our choice: real headers
// have a few.
const (
	mostValues = 16
	mostBytes  = 4096
)

// longest is the longest of a header's values, which may stand in several lines, or in a line with commas.
func (c clock) longest(values []string, unit time.Duration) (most time.Duration, ok bool) {
	for _, v := range values[:min(len(values), mostValues)] {
		v = v[:min(len(v), mostBytes)]
		if d, is := c.instant(v, unit); is {
			most, ok = max(most, d), true
			continue
		}
		for _, part := range strings.SplitN(v, ",", mostValues) {
			if d, is := c.instant(part, unit); is {
				most, ok = max(most, d), true
			}
		}
	}
	return most, ok
}

// The smallest epoch, of 2001, in seconds, and the smallest in milliseconds, of 1973.
const (
	epoch             = 1e9
	epochMilliseconds = 1e11
)

// instant is the only parser of a time. It reads a number of units, with a fraction or without ("120", "1.5"), a
// duration ("34s", "6m0s", "250ms"), an epoch in seconds or milliseconds (a number of units that is more than a year), and
// a date of HTTP (RFC 9110, section 5.6.7, also with UTC for GMT) or of RFC 3339.
func (c clock) instant(value string, unit time.Duration) (time.Duration, bool) {
	value = strings.Trim(value, " \t\"")
	if value == "" {
		return 0, false
	}
	if n, ok := number(value); ok {
		switch d := n * float64(unit); {
		case d <= float64(longest):
			return time.Duration(math.Round(d)), true
		case n >= epochMilliseconds && n < 1e15:
			return c.until(time.UnixMilli(int64(n)))
		case n >= epoch && n < epochMilliseconds:
			return c.until(time.UnixMicro(int64(n * 1e6)))
		}
		return 0, false
	}
	if d, err := time.ParseDuration(strings.ReplaceAll(value, " ", "")); err == nil {
		return min(max(0, d), longest), d >= 0 && d <= longest
	}
	if at, ok := parsed(value); ok {
		return c.until(at)
	}
	return 0, false
}

func number(value string) (float64, bool) {
	value = strings.TrimSpace(value)
	if value == "" || strings.Trim(value, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(value, 64)
	return n, err == nil
}

func (c clock) until(at time.Time) (time.Duration, bool) {
	d := max(0, at.Sub(c.date()))
	return min(d, longest), d <= longest
}

// layouts are the dates that services write. RFC 9110, section 5.6.7, has the first three.
var layouts = [...]string{
	"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC,
	"Mon, 02 Jan 2006 15:04:05 UTC", time.RFC1123Z, time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05 UTC",
}

func parsed(value string) (time.Time, bool) {
	if len(value) > len("Wednesday, 02-Jan-06 15:04:05.000000000 GMT") || !strings.Contains(value, ":") {
		return time.Time{}, false
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, value); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}
