package answer

import (
	"strings"
	"time"
)

// A success is looked through for what is no success. A code or a field of an API decides, never a word of the user's
// data. A document is an error if it has one of the keys of errors, and no key with data. So a resource that tells of its
// own failure, such as a job or a response of a model, is a success. An event of a stream has no such bound.

type place uint8

const (
	others      place = iota // the user's data
	documents                // a list of answers: JSON-RPC, GraphQL
	document                 // an answer
	failure                  // within "error" or "errors"
	rows                     // the items of a batch
	row                      // an item
	actions                  // Elasticsearch: items within the name of their action
	action                   // that name
	unprocessed              // Amazon DynamoDB
	outer                    // data and extensions of GraphQL
	cost                     // Shopify: extensions.cost
	bucket                   // Shopify: throttleStatus; GitHub: rateLimit
)

// The lists of a batch. Each counts if what its row says is so.
const (
	bulk      = iota // Elasticsearch, Bulk API; OpenSearch: "errors": true
	responses        // Microsoft Graph, JSON batching: items with a body, headers or an error
	records          // Amazon Kinesis, PutRecords; Amazon Data Firehose, PutRecordBatch: FailedRecordCount, FailedPutCount
	entries          // Amazon SQS, SendMessageBatch: Failed, beside Successful
	leftovers        // Amazon DynamoDB, BatchWriteItem, BatchGetItem: at most 25 or 100 items
	lists
)

// beside are keys that may stand beside an error, folded: of JSON-RPC, Slack, MediaWiki, Last.fm, Trino, Marketo, GraphQL,
// OpenRouter, Etherscan. A key of roles may, too, and any key that is empty.
var beside = func() map[string]bool {
	all := map[string]bool{}
	for _, key := range strings.Fields("jsonrpc id ok success requestid request servedby links documentationurl timestamp path extensions hint info stats infouri " +
		"nexturi warnings userid errors data response note information result errcode errorcode") {
		all[key] = true
	}
	return all
}()

type success struct {
	*reader
	scan
	// event: the document is an event of a stream.
	event  bool
	places [mostDepth + 2]place
	lists  [mostDepth + 2]uint8
	key    string
	judged []judged
	batch  int // the documents of a list that were judged

	facts
	tally [lists]struct{ items, refused int }
	costs struct{ limit, left, rate, asked float64 }
}

// facts are the findings in a document and in the item at hand.
type facts struct {
	failed, full     bool   // a key of errors; a key with data
	errors, data     bool   // "errors" of GraphQL, and data beside them
	flagged, counted bool   // "errors": true; FailedRecordCount
	id, rpc          bool   // "id", "jsonrpc"
	status, note     string // their texts
	explained, notOK bool   // Google Maps: error_message; Etherscan: "NOTOK"
	keys             int

	refusal, envelope bool // of the item
}

type judged struct {
	code    string
	refuses bool
}

func (r *reader) success(body string, event, failed bool) {
	s := success{reader: r, scan: scan{from: body}, event: event}
	s.failed = failed
	for {
		kind, value := s.next()
		switch kind {
		case 0:
			s.sum()
			return
		case keyToken:
			s.key = value
		case '{', '[':
			s.opened(kind)
		case '}', ']':
			s.closed()
		default:
			s.found(kind, value)
		}
	}
}

// opened sets the place of an object or a list by the place in which it stands.
func (s *success) opened(kind byte) {
	d, object := s.depth, kind == '{'
	to := others
	s.lists[d] = s.lists[d-1]
	switch in := s.places[d-1]; {
	case d == 1 && !object:
		to = documents
	case d == 1, in == documents && object:
		to = document
	case in == document:
		to = s.field(kind, "")
	case in == failure && d <= deepest:
		to = failure
	case in == rows && object, in == action && object:
		to, s.refusal, s.envelope = row, false, false
	case in == row:
		s.envelope = s.envelope || s.key == "body" || s.key == "headers" || s.key == "error"
	case in == actions && object:
		to = action
	case in == unprocessed && object && s.objects&(1<<(d-1)) == 0:
		s.tally[leftovers].refused++
	case in == unprocessed:
		to = unprocessed
	case in == outer && s.key == "cost":
		to = cost
	case in == outer && s.key == "rateLimit", in == cost && s.key == "throttleStatus":
		to = bucket
	}
	s.places[d] = to
}

func (s *success) closed() {
	switch d := s.depth + 1; s.places[d] {
	case row:
		list := s.lists[d]
		s.tally[list].items++
		if s.refusal && (list != responses || s.envelope) {
			s.tally[list].refused++
		}
	case document:
		switch {
		case d == 1:
			s.end()
		case s.places[d-1] == documents:
			s.of()
		}
	}
}

// found takes a value that is no object and no list.
func (s *success) found(kind byte, value string) {
	switch s.places[s.depth] {
	case document:
		s.field(kind, value)
	case failure:
		s.said(s.key, kind, value)
	case row:
		switch s.key {
		case "status", "Code", "ErrorCode", "code":
			s.refusal = s.refusal || s.refuses(value)
		}
	case cost:
		if n, ok := number(value); ok && s.key == "requestedQueryCost" {
			s.costs.asked = n
		}
	case bucket:
		s.costed(value)
	}
}

func (s *success) costed(value string) {
	n, ok := number(value)
	switch c := &s.costs; {
	case s.key == "resetAt":
		if d, ok := s.instant(value, time.Second); ok && d > 0 {
			c.rate = -d.Seconds()
		}
	case !ok:
	case s.key == "maximumAvailable", s.key == "limit":
		c.limit = n
	case s.key == "currentlyAvailable", s.key == "remaining":
		c.left = n
	case s.key == "restoreRate":
		c.rate = n
	}
}

// field takes a key of the document, and returns the place of its value.
func (s *success) field(kind byte, value string) place {
	var folded [longestCode]byte
	key := appendFolded(folded[:0], s.key)
	empty := value == "" || value == "0" || value == "false" || value == "null"
	if kind == '[' || kind == '{' {
		empty = s.hollow()
	}
	s.keys++
	if b, is := batches[string(key)]; is {
		s.full = s.full || !empty
		return s.begins(b)
	}
	if is := roles[string(key)]; !empty && is == 0 && !beside[string(key)] {
		s.full = true
	}
	switch string(key) {
	case "error", "errcode", "errorcode":
		return s.erring(kind, value, empty)
	case "errors":
		if s.flagged = value == "true"; s.flagged {
			s.full = true
			break
		}
		s.errors = !empty
		return s.erring(kind, value, empty)
	case "data", "extensions":
		s.data = s.data || !empty && key[0] == 'd'
		return outer
	case "response":
		if s.event {
			return document
		}
		s.full = s.full || !empty
	case "type":
		s.failed = s.failed || s.event && value == "error"
	case "id":
		s.id = true
	case "jsonrpc":
		s.rpc = true
	case "status":
		s.status = value
	case "note", "information":
		s.note = value
	case "result":
		if s.notOK {
			s.says(value)
		}
		s.full = s.full || !empty && !s.notOK
	case "failedrecordcount", "failedputcount":
		s.counted = !empty
	default:
		s.explained = s.explained || string(key) == "errormessage" && !empty
		s.notOK = s.notOK || string(key) == "message" && value == "NOTOK" && s.status == "0"
		if kind == textToken || kind == bareToken {
			s.said(s.key, kind, value)
		}
	}
	return others
}

func (s *success) begins(b listOfBatch) place {
	s.lists[s.depth] = b.list
	if b.most > 0 {
		s.tally[b.list].items = b.most
	}
	return b.place
}

// erring takes a key of errors, whose value may be a code, a text or a list of codes or texts.
func (s *success) erring(kind byte, value string, empty bool) place {
	s.failed = s.failed || !empty
	s.key = "error"
	if !empty && (kind == textToken || kind == bareToken) {
		s.said(s.key, kind, value)
	}
	return failure
}

// listOfBatch is a list of a batch, the place of its value, and its most items if it does not count.
type listOfBatch struct {
	list  uint8
	place place
	most  int
}

// batches are the lists of a batch by their keys, folded.
var batches = map[string]listOfBatch{
	"items":     {bulk, actions, 0},
	"responses": {responses, rows, 0},
	"records":   {records, rows, 0}, "requestresponses": {records, rows, 0},
	"failed": {entries, rows, 0}, "successful": {entries, rows, 0},
	"unprocesseditems": {leftovers, unprocessed, 25}, "unprocessedkeys": {leftovers, unprocessed, 100},
}

// refuses reports whether a code of an item refuses for load. Eight codes of an answer are looked up: batches have few.
func (s *success) refuses(code string) bool {
	for _, j := range s.judged {
		if j.code == code {
			return j.refuses
		}
	}
	if len(s.judged) == 8 {
		return false
	}
	s.judged = append(s.judged, judged{code, refuses(code)})
	return s.judged[len(s.judged)-1].refuses
}

// refuses reports whether a code, or a status, refuses for load.
func refuses(code string) bool {
	if status := statusOf(code); status > 0 {
		return statuses[status] == Refused
	}
	var folded [longestCode]byte
	a := Answer{Codes: []string{string(appendFolded(folded[:0], code))}}
	m, known, _ := a.worded()
	return known && m.refuses()
}

// refuses reports a meaning that speaks of load.
func (m Meaning) refuses() bool { return m == Refused || m == Guessed || m == Stopped }
