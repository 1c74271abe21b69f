// Package answer reads the answers of a service: its refusals, the times it asks for, and the quotas it reports.
//
// [Read] takes the bytes of an HTTP answer. [Of] takes a code and a message of an SDK, gRPC, a mail server or a
// database. Both return an [Answer]. The first rule below that decides gives its [Answer.Meaning]:
//
//  1. A closed account (billing, insufficient_quota): Closed. No wait helps.
//  2. The size of the request: Final. No wait makes a request smaller.
//  3. The service's own word on a retry: X-Should-Retry.
//  4. The time: a 4xx that says when to come back is Refused, unless its words say Passing, Slow or Stopped. With a
//     word for a day, or for a request at fault, it is Guessed. 401, 404, 422 and the like stay final.
//  5. The words: codes and phrases, in any spelling, with any status that may mean "later".
//  6. The status: 429 is Refused, 504 is Slow, 404 is Fault.
//  7. Otherwise: an unlisted 5xx is Unclear, an unlisted 4xx Final.
//
// A success is an error only if its document is one: an XML Error, a JSON that has a key of errors and no data, or the
// first event of a stream. A batch that refuses a tenth of its items for load is Partly. A code or a field of an API
// decides, never a word of the user's data.
//
// Three tables hold the known words, statuses and times. Codes are folded before they are compared: lower case,
// without "_", "-", "." and namespace. So "rate_limit_exceeded", "rateLimitExceeded" and "RATE_LIMIT_EXCEEDED" are
// equal.
//
// The package is pure: it reads no clock, does no I/O, and uses no reflection. Its functions are safe for any
// number of goroutines. For any input a wait is at most a year, a text at most 8 KiB, and reading ends.
package answer

import (
	"slices"
	"time"

	"github.com/aimd-go/aimd/internal/body"
)

// Answer is the content of one answer of a service. The zero Answer is empty, and means Unknown. An Answer is a
// value; its slices and its map are never changed.
type Answer struct {
	// Status is the status of HTTP; 0 without HTTP.
	Status int
	// Header is the header of HTTP, with names as http.Header has them; nil without HTTP.
	Header map[string][]string
	// Codes are the service's codes, folded.
	Codes []string
	// Text is the message in lower case, at most 8 KiB.
	Text string
	// Wait is the time for which the service asks to wait; 0: it does not ask.
	Wait time.Duration
	// Quotas are the quotas that the header reports, and those that a success of GraphQL tells.
	Quotas []Quota
	// Begun: the error came within an answer that had begun as a success.
	Begun bool
	// Body is the start of the body that was read, without its compression. Do not change it.
	Body []byte

	// asked: a header says when to come back, perhaps at once.
	asked bool
	// fromXML: the document is XML.
	fromXML bool
	// fine: a success whose document is no error, whatever words it has.
	fine bool
	// listed: the error is one of "errors", as GraphQL has them.
	listed bool
	// items is the number of items of a batch, refused the number that the service refused for load.
	items, refused int
	// whole: the wait is until a quota is whole again, for which nothing is served (GitHub).
	whole bool
	// meant is the meaning of As; Unknown: no such meaning.
	meant Meaning
}

// Read reads an answer of HTTP that came now. start is the start of its body, in JSON, XML or text; nil if it was
// not read. It may be packed by Content-Encoding (gzip and deflate are unpacked).
func Read(status int, header map[string][]string, start []byte, now time.Time) Answer {
	a := Answer{Status: status, Header: header}
	r := reader{Answer: &a, clock: clock{header: header, now: now}}
	a.Wait, a.asked = RetryAfter(header, now)
	r.named()
	a.Body = body.Plain(header, start)
	r.document(a.Body)
	a.fine = r.succeeded() && !a.Begun
	if reports(header) {
		var whole time.Duration
		if a.Quotas, whole = reported(r.clock); a.Wait == 0 && (status == 403 || status == 429) {
			a.Wait, a.whole = whole, whole > 0
		}
	}
	if q := r.spoken; q.Valid() && q.Name != "" && !slices.ContainsFunc(a.Quotas, func(other Quota) bool { return other.Name == q.Name }) {
		a.Quotas = append(a.Quotas, q)
	}
	return a
}

// Of reads the error of an SDK, gRPC, a database or a mail server: its code, its message and the wait that it asks
// for. Each may be missing. A code of digits from 400 to 599 is a status.
func Of(code, message string, wait time.Duration) Answer {
	var a Answer
	if code != "" {
		a.code(code)
		a.Status = a.within()
	}
	a.Text = lowered(message)
	a.Wait = bounded(wait)
	return a
}

// With returns the answer with a code, a message and a wait of an SDK's error. Each counts if the answer lacks its
// own.
func (a Answer) With(code, message string, wait time.Duration) Answer {
	if full(code) && a.Status == 403 {
		code = storage
	}
	if a.fine && code+message != "" {
		a.Codes, a.Text, a.fine = nil, "", false
	}
	a.Codes = a.Codes[:len(a.Codes):len(a.Codes)]
	if code != "" {
		a.code(code)
	}
	if a.Text == "" {
		a.Text = lowered(message)
	}
	if a.Wait == 0 {
		a.Wait = bounded(wait)
	}
	return a
}

func bounded(wait time.Duration) time.Duration {
	return min(max(0, wait), longest)
}
