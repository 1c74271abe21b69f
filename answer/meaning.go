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

// words is what codes and phrases mean: the first row that fits decides. A code is folded; a * stands for any text at its
// begin or end. Phrases are parts of the message; a * stands for any text between two parts.
var words = []struct {
	means Meaning
	codes []pattern
	says  []phrase
	at    int // the only status with which the phrases count, 0: any; always: the row decides, whatever the time and the status
}{
	// The memory of a node of Elasticsearch. The threads of Neo4j, Status codes.
	{Refused, list("circuitbreakingexception neotransienterrorrequestnothreadsavailable"), nil, 0},
	// OpenAI, Azure OpenAI, Anthropic, DeepSeek, OpenRouter, Alibaba Cloud, Moonshot AI, Google.
	{Closed, list("insufficientquota billing* *billinglimit* creditbalance* insufficientbalance insufficientcredits accountdeactivated arrearage exceededcurrentquota*"),
		said("credit balance is too low", "insufficient balance", "insufficient credits", "billing account"), always},
	// A size is no load. gRPC's three libraries, OpenAI, Groq, Anthropic.
	{Final, list("*toolarge *toolong *lengthexceeded *sizeexceeded *sizelimitexceeded *lengthlimitexceeded *sizelimit *maxsize* *abovemaxlength"),
		said("larger than max", "exceeds maximum size", "exceeds the maximum configured message size", "request too large",
			"maximum context length", "reduce your message size", "prompt is too long"), always},
	// GitHub: "wait for at least one minute", and requests sent meanwhile may get the program banned. Bybit: ten minutes.
	{Stopped, list("secondaryratelimit* abuseratelimit*"), said("secondary rate limit", "abuse detection", "access too frequent"), 0},
	// Alpha Vantage: a rate and a quota of a day, and no word on which it was. WeChat, API call limits.
	{Guessed, list("45009"), said("per minute and*per day"), 0},
	// Quotas of a day or a month, of storage and of things.
	{Spent, list("dailylimit* dailyquota* *perday* monthly* servicequotaexceeded* *bucketquotaexceeded storagequotaexceeded* usagelimitreached " +
		"accesslimitreached *overrate overdailylimit"),
		said("per day", "perday", "daily quota", "per month", "/ month", "per year", "peryear", "daily limit", "daily message", "api usage limit",
			"for the current month", "sending limit (daily)", "database space exceeded"), 0},
	// Neo4j, Status codes: "may succeed if retried".
	{Passing, list("neotransienterror*"), nil, 0},
	// Locks, and conflicts of requests that run now: Stripe, Amazon S3, Lambda, Azure, Salesforce.
	// The same bytes never pass: Kubernetes, and names that somebody has. S3's restore takes hours, and runs.
	{Fault, list("invalidrange conditionnotmet restorealreadyinprogress *alreadyexists"),
		said("object has been modified", "already exists", "already registered", " taken", "try again with", "retry with", "reload", "refresh"), 409},
	{Passing, list("locktimeout operationaborted conditionalrequestconflict idempotencykeyinuse concurrentmodification* *inprogress transactionconflict* " +
		"retrywith *beingdeleted unabletolockrow clusterdown masterdown writeconflict notwritableprimary retryablewriteerror " +
		"transienttransactionerror leadernotavailable notleaderforpartition notenoughreplicas"),
		said("in progress", "being processed", "try again", "please retry"), 409},
	{Slow, list("*requesttimeout requesttimeoutexception operationtimedout *servertimedout gatewaytimeout deadlineexceeded maxtimemsexpired requesttimedout 57014"), nil, 0},
	// Throttles: aws-sdk-go-v2 (aws/retry), Amazon S3, MinIO, Azure, Google, OpenAI, Anthropic, Salesforce, Telegram, Dropbox,
	// AWS Glue and Step Functions, Amazon Redshift, Mashery, NetSuite, Feishu, Zoho, Elasticsearch, Google Maps.
	{Refused, list("*throttl* slowdown* *serverbusy serviceunavailable* toomanyrequest* *throughputexceeded* requestlimitexceeded bandwidthlimitexceeded " +
		"*ratelimitexceeded* *ratelimited* ratelimiterror overloaded overloadederror priorrequestnotcomplete transactioninprogress* " +
		"toomanyconcurrent* floodwait* toomanyconnections toomanywriteoperations *ratetoohigh *rateexceeded capacityexceeded* systemoverloadederror " +
		"*rejectedexecutionexception overquerylimit concurrentruns* executionlimitexceeded* activestatementsexceeded* activesessionsexceeded* *overqps sssrequestlimitexceeded 99991400"),
		said("too many requests continuously"), 0},
	// Bytes that were hurt on their way, and a completion that came too soon: aws/aws-sdk-ruby#1264, minio/mc#2245,
	// aws/aws-sdk-js#3071.
	{Hurt, list("baddigest xamzcontentsha256mismatch xamzcontentchecksummismatch incompletebody invalidpart"), nil, 0},
	// An echo of a validation is no refusal: the phrases below do not count.
	{Final, list("invalid* validation* *validationerror *validationexception *validationfailed *parsefailed malformed* unsupported* *permission* accessdenied unauthorized* authentication* contentfilter* policyviolation card*"), nil, 0},
	{Fault, list("nosuch* *notfound *notfoundexception *notfounderror *alreadyexists* preconditionfailed conditionalcheckfailed*"), nil, 0},
	{Spent, nil, said("daily*limit", "daily*exceeded", "monthly*limit", "monthly*cap", "exceeded*monthly"), 0},
	// The service failed, and says so within a success too (Amazon S3).
	{Unclear, list("internalerror internalservererror internalfailure servererror apierror"), nil, 0},
	{Guessed, list("googlerpcquotafailure quotaexceeded* *quotaexceeded usagelimitexceeded userratelimit* temporarilyunavailable resourceexhausted " +
		"limitexceededexception ratelimit concurrentrequest*"),
		said("rate limit", "rate-limit", "ratelimitexceeded", "rate exceeded", "throttl", "too many requests", "too many connect", "concurrent connections",
			"too many concurrent", "too many simultaneous", "concurrent access limit", "rps limit", "freq out of limit", "too many queued", "request limit reached", "overloaded", "server is busy", "slow down", "quota exceeded",
			"exceeded your current quota", "quota limit", "max number of clients", "max clients reached", "no more connections allowed", "redis is loading the dataset"), 0},
}

// storage is what a code of S3 means that names no quota.
const storage = "StorageQuotaExceeded"

// full reports a code of a store of S3 that has no room: Ceph Object Gateway, versity/versitygw#503, apache/ozone#7878; the
// last from memory. Google's quotaExceeded is another.
func full(code string) bool {
	return code == "QuotaExceeded" || code == "QUOTA_EXCEEDED" || code == "ObjectQuotaExceeded"
}

// always is the at of a row that decides before all else.
const always = -1

// pattern is a code, or a part of it: open at its begin, or at its end.
type pattern struct {
	word        string
	open, ended bool
}

func list(codes string) (all []pattern) {
	for _, code := range strings.Fields(codes) {
		all = append(all, pattern{strings.Trim(code, "*"), code[0] == '*', code[len(code)-1] == '*'})
	}
	return all
}

func (p pattern) matches(code string) bool {
	switch {
	case p.open && p.ended:
		return strings.Contains(code, p.word)
	case p.open:
		return strings.HasSuffix(code, p.word)
	case p.ended:
		return strings.HasPrefix(code, p.word)
	}
	return code == p.word
}

// worded is what the words mean; false without a word that is known. decides: whatever else the answer says.
func (a *Answer) worded() (means Meaning, known, decides bool) {
	for i := range words {
		row := &words[i]
		for _, code := range a.Codes {
			if slices.ContainsFunc(row.codes, func(p pattern) bool { return p.matches(code) }) {
				return row.means, true, row.at == always
			}
		}
		if row.at <= 0 || row.at == a.Status {
			if slices.ContainsFunc(row.says, a.says) {
				return row.means, true, row.at == always
			}
		}
	}
	return Unclear, false, false
}

// phrase is a part of a message, and another part that comes later; "" without a second part.
type phrase struct{ first, later string }

func said(phrases ...string) (all []phrase) {
	for _, p := range phrases {
		first, later, _ := strings.Cut(p, "*")
		all = append(all, phrase{first, later})
	}
	return all
}

// says reports whether the message has the phrase.
func (a *Answer) says(p phrase) bool {
	i := strings.Index(a.Text, p.first)
	return i >= 0 && (p.later == "" || strings.Contains(a.Text[i+len(p.first):], p.later))
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

// judge is the meaning of an error.
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
