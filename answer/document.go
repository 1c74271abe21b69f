package answer

import (
	"bytes"
	"html"
	"slices"
	"strconv"
	"strings"
)

const (
	// deepest is the depth to which a document of an error is read: Google's codes are at four.
	deepest = 7
	// mostText is the part of a message that is read, in bytes. Our choice: error documents are shorter.
	mostText = 8 << 10
	// mostCodes is the number of codes that are kept, and mostTold the number of keys that are read
	// as a time. Our choice: real documents have a few.
	mostCodes = 32
	mostTold  = 4
	// mostSaid is the number of values of an error that are read. Our choice: real documents have a few.
	mostSaid = 512
)

type reader struct {
	*Answer
	clock
	// text is the message, not in lower case yet.
	text []byte
	// tolds counts the keys that were read as a time.
	tolds int
	// saids counts the values that were read.
	saids int
	// spoken is the quota that the document of a success reports; its Name is empty without one.
	spoken Quota
}

// document reads a body by how it begins, since many services send JSON under another type. A page is for people.
func (r *reader) document(body []byte) {
	body = bytes.TrimLeft(body, " \t\r\n\ufeff")
	kind := kindOf(r.header)
	switch {
	case len(body) == 0:
	case r.succeeded() && kind == "text/event-stream":
		if body[0] == '{' { // the data of an event, as an SDK's error keeps it
			r.success(string(body), true, false)
			break
		}
		r.event(string(body))
	case r.succeeded() && strings.HasPrefix(kind, "multipart/"):
		r.parts(string(body))
	case body[0] == '{' || body[0] == '[':
		if r.succeeded() {
			r.success(string(body), false, false)
		} else {
			r.json(string(body))
		}
	case body[0] == '<':
		r.xml(string(body))
	case r.Status >= 400 && !isPage(body):
		r.says(string(body))
		if bytes.IndexByte(body, ' ') < 0 { // a code alone
			r.code(strings.TrimSpace(string(body)))
		}
	}
	r.heard()
}

func (r *reader) succeeded() bool { return r.Status > 0 && r.Status < 400 }

func (r *reader) heard() {
	if len(r.text) > 0 {
		text := string(r.text)
		if r.fromXML {
			text = html.UnescapeString(text)
		}
		r.Text = lowered(text)
	}
}

func lowered(text string) string {
	text = strings.ToLower(text[:min(len(text), mostText)]) // may be longer than it was
	return text[:min(len(text), mostText)]
}

func isPage[T string | []byte](body T) bool {
	start := strings.ToLower(string(body[:min(len(body), 256)]))
	return strings.HasPrefix(start, "<!doctype html") || strings.Contains(start, "<html")
}

func (r *reader) json(body string) {
	s, key := scan{from: body}, ""
	for {
		kind, value := s.next()
		switch kind {
		case 0:
			return
		case keyToken:
			key = value
		case textToken, bareToken:
			if s.depth <= deepest {
				r.said(key, kind, value)
			}
		}
	}
}

// within is the status that the codes name, or 0.
func (a *Answer) within() int {
	for _, code := range a.Codes {
		if status := statusOf(code); status >= 400 && status < 600 {
			return status
		}
	}
	return 0
}

// statusOf is the number of three digits that a code is, 0 otherwise. An error of strconv would cost two allocations.
func statusOf(code string) (status int) {
	if len(code) == 3 && strings.Trim(code, "0123456789") == "" {
		status, _ = strconv.Atoi(code)
	}
	return status
}

type role uint8

const (
	codeRole role = iota + 1
	textRole
	kindRole // type.googleapis.com/google.rpc.QuotaFailure
	waitRole // and the row of times
)

// roles are the keys that are read, folded.
var roles = func() map[string]role {
	all := map[string]role{"@type": kindRole}
	for _, key := range strings.Fields("code type reason error errorcode errcode status exception errortype subcode tag faultcode statuscode") {
		all[key] = codeRole
	}
	for _, key := range strings.Fields("message msg detail details description errordescription errormessage errormsg errmsg title quotaid quotalimit statustext") {
		all[key] = textRole
	}
	for i := range times {
		for _, key := range strings.Fields(times[i].keys) {
			all[key] = waitRole + role(i)
		}
	}
	return all
}()

func (r *reader) said(key string, kind byte, value string) {
	if kind == bareToken && !strings.Contains("0123456789-", value[:1]) { // true, false, null
		return
	}
	if r.saids++; key == "" || r.saids > mostSaid {
		return
	}
	var folded [longestCode]byte
	switch is := roles[string(appendFolded(folded[:0], key))]; {
	case is == kindRole:
		r.code(value[strings.LastIndexByte(value, '/')+1:])
	case is == codeRole:
		r.code(value)
		if strings.ContainsRune(value, ' ') { // a sentence as the error
			r.says(value)
		}
	case is == textRole:
		r.says(value)
	case is >= waitRole:
		r.told(int(is-waitRole), value)
	}
}

// named reads the codes that a header has: an answer to HEAD has nothing else.
func (r *reader) named() {
	for _, name := range [...]string{"X-Amzn-Errortype", "X-Ms-Error-Code", "X-Mashery-Error-Code"} {
		for _, code := range r.header[name][:min(len(r.header[name]), 1)] {
			r.code(code)
		}
	}
	if len(r.header["X-Envoy-Ratelimited"]) > 0 {
		r.code("ratelimited")
	}
}

func (a *Answer) code(code string) {
	var space [longestCode]byte
	folded := appendFolded(space[:0], code)
	if len(folded) == 0 || len(a.Codes) == mostCodes || slices.ContainsFunc(a.Codes, func(known string) bool { return known == string(folded) }) {
		return
	}
	a.Codes = append(a.Codes, string(folded))
}

// says adds to the message, without the escapes of JSON.
func (r *reader) says(text string) {
	if len(r.text) > 0 && text != "" {
		r.text = append(r.text, '\n')
	}
	r.text = plain(r.text, text, mostText)
}

// longestCode is the longest text that is taken for a code. A longer text is a sentence.
const longestCode = 128

// appendFolded adds a code of any dialect in one way: lower case, without "_", "-", ".", space and the namespace. So
// "com.amazonaws.sqs#RequestThrottled" is "requestthrottled". A sentence is no code.
func appendFolded(to []byte, code string) []byte {
	code = code[strings.LastIndexByte(code, '#')+1:]
	if i := strings.Index(code, ":http"); i > 0 { // X-Amzn-Errortype: ThrottlingException:http://...
		code = code[:i]
	}
	if strings.Contains(code, "/") || len(code) > longestCode {
		return to
	}
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c >= 'A' && c <= 'Z':
			to = append(to, c+'a'-'A')
		case c != '_' && c != '-' && c != '.' && c != ' ':
			to = append(to, c)
		}
	}
	return to
}
