package answer

import (
	"strconv"
	"strings"
)

// mostXML is the part of an error's document in XML that is read, in bytes. Our choice: 64 KiB of a batch's are read.
const mostXML = 8 << 10

// xml reads a document: the text of each element that has no other. A success is an error if its root is Error, and may be
// a batch that refuses some of its items: the DeleteResult of Amazon S3, and what Amazon SQS and SNS call a batch.
func (r *reader) xml(body string) {
	if isPage(body) {
		return
	}
	batch, root, name := false, "", ""
	if !r.succeeded() {
		body = body[:min(len(body), mostXML)]
	}
	for at := 0; ; {
		text, tag, next := element(body, at)
		if text != "" && name != "" {
			if batch {
				if name == "Code" && refuses(text) {
					r.refused++
				}
			} else {
				if name == "Code" && full(text) {
					text = storage
				}
				r.said(name, textToken, text)
			}
		}
		if at = next; tag == "" {
			break
		}
		if name = ""; tag[0] == '/' || tag[0] == '!' || tag[0] == '?' {
			continue
		}
		name = tag
		switch {
		case root == "":
			root = name
			r.fromXML = true
			if batch = root == "DeleteResult" || strings.HasSuffix(root, "BatchResponse"); batch || !r.succeeded() {
				break
			}
			if root != "Error" && root != "ErrorResponse" {
				return
			}
			r.Begun = true
		case name == "Deleted" || name == "Error" || name == "member" || strings.HasSuffix(name, "Entry"):
			r.items++
		}
	}
	r.begun()
}

// element returns the text from a place on, and the tag behind it: its name, or how it begins if it is the end of an
// element, a comment or the like; "" at the end of the document.
func element(body string, at int) (text, tag string, next int) {
	open := strings.IndexByte(body[at:], '<')
	if open < 0 {
		return strings.TrimSpace(body[at:]), "", len(body)
	}
	text, at = strings.TrimSpace(body[at:at+open]), at+open+1
	end := ">"
	switch rest := body[at:]; {
	case strings.HasPrefix(rest, "!--"):
		end = "-->"
	case strings.HasPrefix(rest, "![CDATA["):
		if text == "" {
			text, _, _ = strings.Cut(rest[len("![CDATA["):], "]]>")
		}
		end = "]]>"
	}
	shut := strings.Index(body[at:], end)
	if shut < 0 {
		return text, "", len(body)
	}
	tag, next = body[at:at+shut], at+shut+len(end)
	if i := strings.IndexAny(tag, " \t\r\n/"); i > 0 {
		tag = tag[:i]
	}
	if tag = tag[strings.LastIndexByte(tag, ':')+1:]; tag == "" {
		tag = "!"
	}
	return text, tag, next
}

// begun takes the status of an error within a success from its codes, if a code has a status.
func (r *reader) begun() {
	if status := r.within(); r.Begun && status > 0 && (!r.listed || refuses(strconv.Itoa(status))) {
		r.Status = status
	}
}
