package proxy

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// say answers with a reason in one line, which has no query of the request. The answer is one that the program can
// read: as S3, as an API in JSON, or text.
func say(w http.ResponseWriter, r *http.Request, status int, reason error) {
	var of *url.Error
	if errors.As(reason, &of) {
		reason = of.Err
	}
	line := strings.Join(strings.Fields(reason.Error()), " ")
	line = strings.ToValidUTF8(line[:min(len(line), 500)], "")
	h, body := w.Header(), "aimd proxy: "+line
	h.Set("Aimd-Reason", invisible.ReplaceAllString(line, ""))
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	code := codes[status]
	switch signed := r.Header.Get("Authorization"); {
	case strings.HasPrefix(signed, "AWS4-"), r.Header.Get("X-Amz-Date") != "", strings.Contains(r.URL.RawQuery, "X-Amz-Credential="):
		h.Set("Content-Type", "application/xml")
		var text strings.Builder
		_ = xml.EscapeText(&text, []byte(body))
		body = fmt.Sprintf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>%s</Message></Error>", code.s3, text.String())
	case strings.Contains(r.Header.Get("Accept")+r.Header.Get("Content-Type"), "json"):
		h.Set("Content-Type", "application/json")
		text, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{"type": code.api, "message": body}})
		body = string(text)
	default:
		h.Set("Content-Type", "text/plain; charset=utf-8")
	}
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, body)
}

var errFiles = errors.New("all connections for programs are taken, and none has ended for longer than --hold")

// busy says that others hold what the request needs. The program may come again, by a new connection.
func busy(w http.ResponseWriter, r *http.Request, reason error) {
	w.Header().Set("Retry-After", "1")
	w.Header().Set("Connection", "close")
	say(w, r, http.StatusTooManyRequests, reason)
}

// codes are those by which SDKs know what a status means: S3's, and OpenAI's and Anthropic's.
var codes = map[int]struct{ s3, api string }{
	http.StatusBadRequest:      {"InvalidRequest", "invalid_request_error"},
	http.StatusTooManyRequests: {"SlowDown", "rate_limit_error"},
	http.StatusBadGateway:      {"InternalError", "api_error"},
	http.StatusGatewayTimeout:  {"InternalError", "api_error"},
}

// invisible are the characters that a header may not have.
var invisible = regexp.MustCompile("[^ -~]")
