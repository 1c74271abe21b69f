package httplimit

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/aimd-go/aimd/attempt"
)

// usageBegin and usageEnd are the numbers of bytes at the begin and at the end of an answer in which its usage is looked
// for. Our choice: a stream of Anthropic has the input's in its first event. The usage of OpenAI and Anthropic is within
// 500 bytes of the end, but for the metadata of a response, which is the user's: 16 pairs of 64 and 512 letters.
const (
	usageBegin = 4 << 10
	usageEnd   = 12 << 10
)

// usageKey never stands within a text of JSON, whose quotes have a backslash.
var usageKey = []byte(`"usage":`)

// streamed is in the last events of a complete stream. The clients of OpenAI read no further than [DONE].
var streamed = regexp.MustCompile(`data: ?\[DONE\]|"message_stop"|"response\.(completed|incomplete)"`)

// usage is the body of an answer that reports its tokens. It keeps the first bytes and the last, and delays none.
type usage struct {
	io.ReadCloser
	ctx    context.Context
	stream bool

	mu          sync.Mutex // Close may come while Read is at work
	first, last []byte
}

// metered returns the body of an answer, which tells attempt.Used its tokens at its end.
func metered(ctx context.Context, resp *http.Response) io.ReadCloser {
	kind := resp.Header.Get("Content-Type")
	stream := strings.HasPrefix(kind, "text/event-stream")
	if !stream && !strings.HasPrefix(kind, "application/json") || resp.StatusCode/100 != 2 || resp.Header.Get("Content-Encoding") != "" {
		return resp.Body
	}
	return &usage{ReadCloser: resp.Body, ctx: ctx, stream: stream}
}

func (u *usage) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	u.keep(p[:n])
	if err == io.EOF {
		u.tell()
	}
	return n, err
}

func (u *usage) keep(p []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.first = append(u.first, p[:min(len(p), usageBegin-len(u.first))]...)
	seen := p[max(0, len(p)-usageEnd):]
	u.last = append(u.last[max(0, len(u.last)+len(seen)-usageEnd):], seen...)
}

func (u *usage) Close() error {
	u.tell()
	return u.ReadCloser.Close()
}

// tell tells the tokens of a complete answer. A second call has no effect, or the same.
func (u *usage) tell() {
	u.mu.Lock()
	defer u.mu.Unlock()
	complete := bytes.HasSuffix(bytes.TrimSpace(u.last), []byte("}"))
	if u.stream {
		complete = streamed.Match(u.last)
	}
	if !complete { // its tokens are not known, and an earlier "usage" may be part of what the model wrote
		return
	}
	c := u.final()
	if u.stream && c.Input == 0 { // Anthropic's last event may have the output alone
		first := tokensAfter(u.first, bytes.Index(u.first, usageKey))
		c.Input, c.Cached = first.Input, first.Cached
	}
	if n := max(c.Total, c.Prompt+c.Completion, c.Input+c.Cached+c.Output); n > 0 {
		attempt.Used(u.ctx, float64(n))
	}
}

// final is the last usage, or the one before: a key of the user's metadata, which comes behind, may have its name.
func (u *usage) final() tokens {
	at := bytes.LastIndex(u.last, usageKey)
	c := tokensAfter(u.last, at)
	if at > 0 && c == (tokens{}) {
		c = tokensAfter(u.last, bytes.LastIndex(u.last[:at], usageKey))
	}
	return c
}

// tokens are the fields of OpenAI's usage and Anthropic's. Anthropic counts tokens that it reads from a cache apart,
// and its limits do not count them.
type tokens struct {
	Total      uint32 `json:"total_tokens"`
	Prompt     uint32 `json:"prompt_tokens"`
	Completion uint32 `json:"completion_tokens"`
	Input      uint32 `json:"input_tokens"`
	Output     uint32 `json:"output_tokens"`
	Cached     uint32 `json:"cache_creation_input_tokens"`
}

// tokensAfter reads the usage whose key begins at this byte. It returns zeros otherwise.
func tokensAfter(text []byte, at int) (c tokens) {
	if at < 0 || json.NewDecoder(bytes.NewReader(text[at+len(usageKey):])).Decode(&c) != nil {
		return tokens{}
	}
	return c
}
