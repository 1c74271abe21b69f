package httplimit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/aimd-go/aimd/attempt"
)

// glance returns the answer as a StatusError and leaves its body readable. If the body may have a code,
// the StatusError has its start.
func glance(resp *http.Response) *StatusError {
	e := newStatusError(resp)
	if !e.coded() || resp.Body == nil || resp.Body == http.NoBody {
		return e
	}
	// Whoever reads the rest sees an error too.
	e.Body, _ = io.ReadAll(io.LimitReader(resp.Body, e.kept()))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(e.Body), resp.Body), resp.Body}
	return e
}

// ambiguous reports a status that services give for too many requests now as well as for a quota that is
// used up: 429, and with Google's older APIs 403.
func (e *StatusError) ambiguous() bool {
	return e.StatusCode == http.StatusTooManyRequests || e.StatusCode == http.StatusForbidden
}

// coded reports whether the body may say more than the status.
func (e *StatusError) coded() bool {
	kind, _, _ := mime.ParseMediaType(e.Header.Get("Content-Type"))
	return e.ambiguous() && strings.HasSuffix(kind, "json")
}

// kept is how much to keep of the body.
func (e *StatusError) kept() int64 {
	if e.coded() {
		return drainedBody
	}
	return keptBody
}

// ErrorCode returns the error code in a JSON body, for a status of 429 or 403: OpenAI's
// "insufficient_quota", Google's "rateLimitExceeded". A code for a used quota comes before others. It is
// empty if the body has no code that attempt.Classify knows.
func (e *StatusError) ErrorCode() string {
	var document any
	if !e.ambiguous() || json.Unmarshal(e.Body, &document) != nil {
		return ""
	}
	var c codes
	c.collect(document, 0)
	switch {
	case c.quota != "":
		return c.quota
	case c.known != "":
		return c.known
	case c.violation && !c.retry:
		return "quotaExceeded"
	}
	return ""
}

// codes are the codes of an error's document.
type codes struct {
	// quota is the code of a used quota, and known the code of any other known error.
	quota, known string
	// violation: it has Google's QuotaFailure, which has no code; retry: it has Google's RetryInfo, so
	// the quota comes back soon.
	violation, retry bool
}

// deepest is how deep the document is searched: Google's codes are at four.
const deepest = 6

func (c *codes) collect(value any, depth int) {
	if depth > deepest {
		return
	}
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			c.collect(v, depth+1)
		}
	case map[string]any:
		for key, v := range value {
			if text, ok := v.(string); ok {
				c.said(key, text)
			} else {
				c.collect(v, depth+1)
			}
		}
	}
}

func (c *codes) said(key, text string) {
	switch key {
	case "@type":
		c.violation = c.violation || strings.HasSuffix(text, "/google.rpc.QuotaFailure")
		c.retry = c.retry || strings.HasSuffix(text, "/google.rpc.RetryInfo")
	case "code", "type", "reason", "error", "__type", "errorCode":
		switch v := attempt.Classify(coded(text)); {
		case errors.Is(v.Reason, attempt.ErrQuota):
			c.quota = text
		case v.Outcome.Valid():
			c.known = text
		}
	}
}

// coded is an API error code as attempt.Classify reads it.
type coded string

func (c coded) Error() string     { return string(c) }
func (c coded) ErrorCode() string { return string(c) }

// ClassifyAs returns a classifier for the errors of an SDK that have the answer in a field. It reads the
// answer as attempt.Classify reads a [StatusError], with its Retry-After and code, and leaves errors
// without an answer to the next classifier:
//
//	aimd.WithClassifier(attempt.FirstOf(
//		httplimit.ClassifyAs(func(e *openai.Error) *http.Response { return e.Response }),
//		attempt.Classify))
func ClassifyAs[E error](response func(E) *http.Response) attempt.Classifier {
	return func(err error) attempt.Verdict {
		var e E
		if !errors.As(err, &e) {
			return attempt.Verdict{}
		}
		resp := response(e)
		if resp == nil || resp.StatusCode < http.StatusBadRequest {
			return attempt.Verdict{}
		}
		return attempt.Classify(glance(resp))
	}
}
