package again

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/window"
)

// rule is what means the same: exit statuses, and words on standard error.
type rule struct {
	name, about string
	verdict     attempt.Verdict
	statuses    []int
	words       []string
}

// rules are in the order in which they count. The zero value tries all again.
type rules []*rule

func (rs *rules) flags(f *pflag.FlagSet) {
	*rs = rules{
		{name: "never", about: "are final", verdict: attempt.Verdict{Outcome: window.Neutral}, statuses: []int{126, 127}},
		{name: "overload", about: "mean that the service is too busy", verdict: attempt.Verdict{Outcome: window.Overload, Retry: true}},
		{name: "again", about: "are worth another try", verdict: attempt.Verdict{Outcome: window.Neutral, Retry: true}},
	}
	for _, r := range *rs {
		f.IntSliceVar(&r.statuses, r.name, r.statuses, "exit `statuses` that "+r.about+", with commas between them")
		f.StringArrayVar(&r.words, r.name+"-says", nil, "`words` on standard error that "+r.about+", in capitals or not; may be given again")
	}
}

// check says what is wrong with the flags.
func (rs rules) check() error {
	for _, r := range rs {
		if i := slices.IndexFunc(r.statuses, func(s int) bool { return s < 1 || s > 255 }); i >= 0 {
			return fmt.Errorf("--%s %d: is not allowed, want exit statuses from 1 to 255", r.name, r.statuses[i])
		}
		if slices.Contains(r.words, "") {
			return errors.New("--" + r.name + `-says "": is not allowed, want words`)
		}
	}
	return nil
}

// listen reports whether standard error has to be read: for words, or for the
// Retry-After of an overload. Else the command has it as it is.
func (rs rules) listen() bool {
	return slices.ContainsFunc(rs, func(r *rule) bool {
		return len(r.words) > 0 || r.verdict.Outcome == window.Overload && len(r.statuses) > 0
	})
}

// judge is the verdict on a try that ended with that status, and why it is so.
func (rs rules) judge(status int, h *heard) (attempt.Verdict, string) {
	for _, r := range rs {
		if i := slices.IndexFunc(r.words, func(w string) bool { return h.words[w] }); i >= 0 {
			v := r.verdict
			v.RetryAfter = h.retryAfter
			return v, fmt.Sprintf("status %d, said %q: --%s-says", status, r.words[i], r.name)
		}
	}
	why, narrow := fmt.Sprintf("status %d", status), false
	for _, r := range rs {
		if slices.Contains(r.statuses, status) {
			v := r.verdict
			v.RetryAfter = h.retryAfter
			return v, why + ": --" + r.name
		}
		narrow = r.name == "again" && len(r.statuses)+len(r.words) > 0
	}
	if narrow {
		return attempt.Verdict{Outcome: window.Neutral}, why + ", not one of --again"
	}
	return attempt.Verdict{Outcome: window.Neutral, Retry: true, RetryAfter: h.retryAfter}, why
}

// heard is what a try said on standard error, as far as it matters. It is an
// io.Writer, for one goroutine.
type heard struct {
	rules rules
	// words are those of the rules that were said.
	words map[string]bool
	// retryAfter is the last Retry-After, 0 if there was none.
	retryAfter time.Duration
	// rest has no newline yet.
	rest []byte
}

// longestLine is how much is kept of a line without an end.
const longestLine = 64 << 10

// Write listens.
func (h *heard) Write(p []byte) (int, error) {
	h.rest = append(h.rest, p...)
	for {
		line, after, ended := bytes.Cut(h.rest, []byte("\n"))
		if !ended {
			break
		}
		h.line(line)
		h.rest = after
	}
	if len(h.rest) > longestLine {
		h.line(h.rest)
		h.rest = h.rest[len(h.rest)-1<<10:]
	}
	h.rest = slices.Clone(h.rest)
	return len(p), nil
}

// header is a Retry-After as servers and tools show it.
var header = regexp.MustCompile(`(?i)\bretry-after: *([^\r]+)`)

func (h *heard) line(b []byte) {
	text := strings.ToLower(string(b))
	for _, r := range h.rules {
		for _, w := range r.words {
			if strings.Contains(text, strings.ToLower(w)) {
				h.words[w] = true
			}
		}
	}
	if m := header.FindSubmatch(b); m != nil {
		after := http.Header{"Retry-After": {strings.TrimSpace(string(m[1]))}}
		if d, ok := httplimit.RetryAfter(after, time.Now()); ok {
			h.retryAfter = d
		}
	}
}

// end tells that no more comes.
func (h *heard) end() { h.line(h.rest) }
