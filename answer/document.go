package answer

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strconv"
	"strings"
)

const (
	// deepest is the depth to which a document is read: Google's codes are at four.
	deepest = 7
	// mostTokens is the number of tokens of a document that are read. mostText and mostXML are the parts of a
	// message and of a document in XML that are read, in bytes. Our choice: error documents have a few tokens, and
	// 64 KiB of any kind are read in 1 ms.
	mostTokens = 1000
	mostText   = 8 << 10
	mostXML    = 8 << 10
	// mostCodes is the number of codes that are kept. Our choice: real documents have a few.
	mostCodes = 32
)

// reader fills an Answer.
type reader struct {
	*Answer
	clock
}

// document reads a body by how it begins, since many services send JSON under another type. A page is for people.
func (r *reader) document(body []byte) {
	body = bytes.TrimLeft(body, " \t\r\n\ufeff")
	switch {
	case len(body) == 0:
	case body[0] == '{' || body[0] == '[':
		r.json(body)
	case body[0] == '<':
		r.xml(body)
	case r.Status >= 400 && !isPage(body):
		r.says(string(body))
		if bytes.IndexByte(body, ' ') < 0 { // a code alone
			r.code(strings.TrimSpace(string(body)))
		}
	}
}

func isPage(body []byte) bool {
	start := strings.ToLower(string(body[:min(len(body), 256)]))
	return strings.HasPrefix(start, "<!doctype html") || strings.Contains(start, "<html")
}

// json reads the strings and numbers of a document, up to its end or to where it is cut.
func (r *reader) json(body []byte) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var (
		objects [deepest + 1]bool // at each depth: an object, not an array
		depth   int
		key     string
		top     string // the key at depth 1
		value   bool   // the next token is a value
	)
	listed := false // the last token began a list of errors
	for range mostTokens {
		t, err := d.Token()
		if err != nil {
			break
		}
		delim, is := t.(json.Delim)
		if listed && delim != ']' {
			r.Begun = r.Status > 0 && r.Status < 400
		}
		listed = false
		inObject := depth > 0 && depth <= deepest && objects[depth]
		if is && (delim == '}' || delim == ']') {
			depth, value = depth-1, false
			continue
		}
		if inObject && !value {
			key, _ = t.(string)
			if depth == 1 {
				top = key
			}
			value = true
			continue
		}
		if depth == 1 && inObject && key == "error" && t != nil && t != false && t != "" && t != json.Number("0") {
			listed = delim == '['
			r.Begun = r.Begun || !listed && r.Status > 0 && r.Status < 400
		}
		value = false
		if is {
			depth++
			if depth <= deepest {
				objects[depth] = delim == '{'
			}
			continue
		}
		if depth > deepest {
			continue
		}
		text, isText := t.(string)
		if n, isNumber := t.(json.Number); isNumber {
			text = n.String()
		} else if !isText {
			continue
		}
		if r.Status > 0 && r.Status < 400 && top != "error" && top != "message" { // the rest of a success is data, but for a time
			r.told(fold(key), text)
			continue
		}
		r.said(key, text)
	}
	r.begun()
}

// xml reads an error document: the text of each element that has no other.
func (r *reader) xml(body []byte) {
	if isPage(body) {
		return
	}
	d := xml.NewDecoder(bytes.NewReader(body[:min(len(body), mostXML)]))
	d.Strict = false
	name, root := "", ""
	for range mostTokens {
		t, err := d.Token()
		if err != nil {
			break
		}
		switch t := t.(type) {
		case xml.StartElement:
			name = t.Name.Local
			if root == "" {
				root = name
				if r.Status > 0 && r.Status < 400 {
					if root != "Error" && root != "ErrorResponse" {
						return
					}
					r.Begun, r.fromXML = true, true
				}
			}
		case xml.CharData:
			if text := strings.TrimSpace(string(t)); text != "" && name != "" {
				r.said(name, text)
			}
		case xml.EndElement:
			name = ""
		}
	}
	r.begun()
}

// begun takes the status of an error within a success from its codes, if a code has a status.
func (r *reader) begun() {
	if !r.Begun {
		if r.Status > 0 && r.Status < 400 { // a success, whatever it says
			r.Codes, r.Text = nil, ""
		}
		return
	}
	if status := r.within(); status > 0 {
		r.Status = status
	}
}

// within is the status that the codes name, or 0.
func (r *reader) within() int {
	for _, code := range r.Codes {
		if status, err := strconv.Atoi(code); err == nil && status >= 400 && status < 600 {
			return status
		}
	}
	return 0
}

// said notes a value of the document by its key.
func (r *reader) said(key, value string) {
	switch key = fold(key); key {
	case "@type": // type.googleapis.com/google.rpc.QuotaFailure
		r.code(value[strings.LastIndexByte(value, '/')+1:])
	case "code", "type", "reason", "error", "errorcode", "errcode", "status", "exception", "errortype", "subcode", "tag", "faultcode",
		"statuscode":
		r.code(value)
		if strings.ContainsRune(value, ' ') { // a sentence as the error
			r.says(value)
		}
	case "message", "msg", "detail", "details", "description", "errordescription", "errormessage", "errormsg", "title", "quotaid", "quotalimit", "statustext":
		r.says(value)
	default:
		r.told(key, value)
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

func (r *reader) code(code string) {
	if code = fold(code); code != "" && len(r.Codes) < mostCodes {
		r.Codes = append(r.Codes, code)
	}
}

// says adds to the message.
func (r *reader) says(text string) {
	text = strings.ToLower(text[:min(len(text), mostText)]) // may be longer than it was
	text = text[:min(len(text), mostText-len(r.Text))]
	if r.Text != "" && text != "" && len(r.Text)+1+len(text) <= mostText {
		r.Text += "\n" + text
		return
	}
	if r.Text == "" {
		r.Text = text
	}
}

// longestCode is the longest text that is taken for a code. A longer text is a sentence.
const longestCode = 128

// fold writes a code of any dialect in one way: lower case, without "_", "-", ".", space and the namespace. So
// "com.amazonaws.sqs#RequestThrottled" is "requestthrottled". A sentence is no code.
func fold(code string) string {
	code = code[strings.LastIndexByte(code, '#')+1:]
	if i := strings.Index(code, ":http"); i > 0 { // X-Amzn-Errortype: ThrottlingException:http://...
		code = code[:i]
	}
	if strings.Contains(code, "/") || len(code) > longestCode {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(code); i++ {
		switch c := code[i]; {
		case c >= 'A' && c <= 'Z':
			b.WriteByte(c + 'a' - 'A')
		case c != '_' && c != '-' && c != '.' && c != ' ':
			b.WriteByte(c)
		}
	}
	return b.String()
}
