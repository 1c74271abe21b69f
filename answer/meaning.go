package answer

import (
	"slices"
	"strings"
	"time"
)

// Meaning is the meaning of an answer.
type Meaning uint8

// The meanings. Package attempt has the outcome of each meaning.
const (
	// Unknown: there was no answer, or it has no known word.
	Unknown Meaning = iota
	// Success: the service did the work.
	Success
	// Unclear: the service failed and does not say why, as in most 500s. A single such answer changes nothing; many
	// in a row are an outage.
	Unclear
	// Fault: the request is at fault, by the verdict of a healthy service: 404, 409, 412, 416.
	Fault
	// Final: another attempt fails in the same way, and the answer does not speak of load: 401, 413, any unlisted
	// 4xx.
	Final
	// Denied: a 403 without a code of the service. It may be the page of a firewall.
	Denied
	// Passing: another attempt may succeed, and the answer does not speak of load: a lock, a conflict, a server
	// that stops.
	Passing
	// Slow: the service's time ran out.
	Slow
	// Refused: too much, for now.
	Refused
	// Guessed: Refused by words that may mean something else: a quota without a time, or a phrase within a 400. If
	// an operation gets no other answer for the longest Retry-After, the answer is Spent.
	Guessed
	// Stopped: too much, and nothing is served to this client until the wait is over.
	Stopped
	// Spent: a quota that does not come back soon.
	Spent
	// Closed: an account that is not paid for or not active. Waiting does not help.
	Closed
	// Partly: the service took a part, and refused the rest for load: a batch of which at least a tenth was refused. The
	// caller gets the answer, and sends the rest.
	Partly
	// Mostly: the service took all but a few: less than a tenth of a batch was refused, as those of a key or a partition.
	// It is an acceptance. Read does not return it: such an answer is a Success.
	Mostly
	// Hurt: the bytes were hurt on their way, or a completion came before the store had listed its parts. The same request
	// may pass: again, three times.
	Hurt
)

// String returns the name of the meaning in lower case.
func (m Meaning) String() string {
	names := [...]string{"unknown", "success", "unclear", "fault", "final", "denied", "passing", "slow", "refused", "guessed", "stopped", "spent", "closed", "partly", "mostly", "hurt"}
	if int(m) < len(names) {
		return names[m]
	}
	return "none"
}

// statuses are the meanings of a status alone. Any other 5xx is Unclear, any other 4xx and all from 600 Final.
var statuses = map[int]Meaning{
	404: Fault, 409: Fault, 410: Fault, 412: Fault, 416: Fault,
	423: Passing, 425: Passing, 449: Passing, 499: Passing, // a lock; too early; Azure Cosmos DB; nginx
	408: Slow, 504: Slow, 522: Slow, 524: Slow, 598: Slow, 599: Slow, // Cloudflare; proxies
	429: Refused, 503: Refused,
	420: Refused, 430: Refused, 509: Refused, 529: Refused, // Twitter; Shopify; bandwidth; Anthropic
	402: Closed,
	501: Final, 505: Final, 507: Final, // 507: no room
}

// never are the 4xx that no time and no word makes a refusal: they say that the request is at fault.
var never = []int{401, 404, 405, 407, 410, 411, 412, 414, 415, 416, 422, 501, 505}

// Meaning returns the meaning of the answer. longest is the longest wait that the client obeys. A longer wait with
// a word for a quota is Spent.
func (a Answer) Meaning(longest time.Duration) Meaning {
	switch {
	case a.meant != Unknown:
		return a.meant
	case a.fine && a.refused > 0 && a.refused*fewest >= a.items:
		return Partly
	case a.fine:
		return Success
	}
	return a.judge(longest)
}

// fewest is the share of a batch from which refused items speak of load: one in so many. Our choice: fewer are those of a
// key or a partition.
const fewest = 10

func (a *Answer) judge(longest time.Duration) Meaning {
	word, known, decides := a.worded()
	if decides {
		return word
	}
	m := a.meaning(word, known, longest)
	if m == Unclear && a.Status < 400 && !a.Begun && !known {
		m = Unknown
		if a.Status > 0 {
			m = Success
		}
	}
	switch a.shouldRetry() {
	case "true":
		if !slices.Contains(later, m) {
			return Passing
		}
	case "false":
		return Final
	}
	return m
}

// later are the meanings that say themselves whether a later attempt may succeed.
var later = []Meaning{Passing, Slow, Refused, Guessed, Stopped, Spent, Closed, Hurt}

// As returns the answer with another meaning, for a service that you know better than this package. With Success it
// is a success. With Unknown the answer has its first meaning again.
func (a Answer) As(m Meaning) Answer {
	a.meant = m
	return a
}

// Failed reports whether the answer is no success. Its status is 400 or more; or it had begun as a success, and its
// document is an error: in XML, or in words for an error that may pass or for an account.
func (a Answer) Failed() bool {
	switch {
	case a.meant != Unknown:
		return a.meant != Success && a.meant != Partly && a.meant != Mostly
	case !a.Begun, a.fromXML:
		return a.Status >= 400 || a.Begun
	}
	switch m := a.judge(longest); m {
	case Unknown, Success, Fault, Final, Denied:
		return false
	case Unclear:
		_, known, _ := a.worded()
		return !a.listed && (known || a.Status >= 500)
	}
	return true
}

// shouldRetry is the service's word on another attempt, which its own SDKs obey before all else: OpenAI, Anthropic, Stripe.
func (a *Answer) shouldRetry() string {
	for _, name := range [...]string{"X-Should-Retry", "Stripe-Should-Retry"} {
		if v := a.Header[name]; len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

func (a *Answer) meaning(word Meaning, known bool, longest time.Duration) Meaning {
	quota := known && word == Spent || strings.Contains(a.Text, "quota") ||
		slices.ContainsFunc(a.Codes, func(code string) bool { return strings.Contains(code, "quota") })
	switch {
	case slices.Contains(never, a.Status):
		return a.byStatus()
	case a.whole:
		return Stopped
	case known && word == Passing && len(a.Header["Stripe-Rate-Limited-Reason"]) > 0: // a lock while there are too many
		return Refused
	case known && (word == Passing || word == Slow || word == Stopped || word == Hurt):
		return word
	case a.Wait > 0 && a.Wait <= longest && a.Status < 500:
		// A quota of a day that comes back drop by drop, or a service that does not know; a validation that echoes a time.
		if known && (word == Spent || (word == Final || word == Fault) && statuses[a.Status] != Refused) {
			return Guessed
		}
		return Refused
	case a.Wait > longest && quota:
		return Spent
	case !known:
		if a.asked && a.Status == 403 { // come back at once; OpenStack says so in a 413 for a count of things
			return Guessed
		}
		return a.byStatus()
	case word == Guessed && !quota && statuses[a.Status] == Refused:
		return Refused
	case word == Unclear:
		return a.byStatus()
	case word == Final || word == Fault: // a word alone, with such a status, does not widen the window
		if m := a.byStatus(); a.Status >= 400 && (m != Final && m != Closed || word == Fault && a.Status != 400) {
			return m
		}
		return word
	}
	return word
}

func (a *Answer) byStatus() Meaning {
	m, listed := statuses[a.Status]
	switch {
	case listed:
		return m
	case a.Status == 403 && len(a.Codes) == 0 && !a.forPrograms():
		return Denied
	case a.Status >= 400 && a.Status < 500, a.Status >= 600:
		return Final
	}
	return Unclear
}

// forPrograms reports whether the type is JSON or XML: an error that a program reads, and no page.
func (a *Answer) forPrograms() bool {
	kind := kindOf(a.Header)
	return strings.Contains(kind, "json") || strings.HasSuffix(kind, "xml") && kind != "application/xhtml+xml"
}

// kindOf is the type of the content, without its parameters.
func kindOf(header map[string][]string) string {
	if len(header["Content-Type"]) == 0 {
		return ""
	}
	kind, _, _ := strings.Cut(header["Content-Type"][0], ";")
	return strings.ToLower(strings.TrimSpace(kind))
}
