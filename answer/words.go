package answer

import (
	"slices"
	"strings"
)

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

// storage is the meaning of a code of S3 that names no quota.
const storage = "StorageQuotaExceeded"

// full reports a code of a store of S3 that has no room: Ceph Object Gateway, versity/versitygw#503, apache/ozone#7878; the
// last from memory. Google's quotaExceeded is another.
func full(code string) bool {
	return code == "QuotaExceeded" || code == "QUOTA_EXCEEDED" || code == "ObjectQuotaExceeded"
}

// always is the at of a row that decides before all else.
const always = -1

// pattern is a code, or a part of one: open at its begin, or at its end.
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

// worded is the meaning of the words; false without a known word. decides: whatever else the answer says.
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

func (a *Answer) says(p phrase) bool {
	i := strings.Index(a.Text, p.first)
	return i >= 0 && (p.later == "" || strings.Contains(a.Text[i+len(p.first):], p.later))
}
