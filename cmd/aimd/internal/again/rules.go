package again

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

// rule gives exit statuses, and words on standard error, one meaning.
type rule struct {
	name, about string
	verdict     verdict.Verdict
	statuses    []int
	words       []string
}

// rules are in the order in which they count. The zero value repeats every failure.
type rules []*rule

var (
	final   = verdict.Verdict{Meaning: answer.Final}
	another = verdict.Verdict{Meaning: answer.Passing}
)

func (rs *rules) flags(f *pflag.FlagSet) {
	*rs = rules{
		{name: "never", about: "are final", verdict: final, statuses: []int{cannotRun, notFound}},
		{name: "again", about: "are worth another try", verdict: another},
	}
	for _, r := range *rs {
		f.IntSliceVar(&r.statuses, r.name, r.statuses, "exit `statuses` that "+r.about+", with commas between them")
		f.StringArrayVar(&r.words, r.name+"-says", nil, "`words` on standard error that "+r.about+", in capitals or not; may be given again")
	}
}

func (rs rules) check() error {
	for _, r := range rs {
		if i := slices.IndexFunc(r.statuses, func(s int) bool { return s < 1 || s > 255 }); i >= 0 {
			return fmt.Errorf("--%s %d: is not allowed, want exit statuses from 1 to 255", r.name, r.statuses[i])
		}
		if slices.Contains(r.words, "") {
			return fmt.Errorf(`--%s-says "": is not allowed, want words`, r.name)
		}
	}
	return nil
}

// listen reports whether words on standard error matter. The command does not see a terminal there then.
func (rs rules) listen() bool {
	return slices.ContainsFunc(rs, func(r *rule) bool { return len(r.words) > 0 })
}

// judge returns the verdict on a try that ended with that status, and the reason.
func (rs rules) judge(status int, h *heard) (verdict.Verdict, string) {
	why, narrow := fmt.Sprintf("status %d", status), false
	for _, r := range rs {
		if i := slices.IndexFunc(r.words, h.says); i >= 0 {
			return r.verdict, fmt.Sprintf("%s, said %q: --%s-says", why, r.words[i], r.name)
		}
		narrow = r.name == "again" && len(r.statuses)+len(r.words) > 0
	}
	for _, r := range rs {
		if slices.Contains(r.statuses, status) {
			return r.verdict, why + ": --" + r.name
		}
	}
	if narrow {
		return final, why + ", not one of --again"
	}
	return another, why
}

// longestTail is the part of a try's standard error that is looked at: its end, in bytes.
const longestTail = 64 << 10

// heard keeps the end of the standard error of a try. It is an io.Writer for one goroutine.
type heard struct{ tail []byte }

// Write implements io.Writer. It does not fail.
func (h *heard) Write(p []byte) (int, error) {
	if len(h.tail) > 2*longestTail {
		h.tail = append(h.tail[:0], h.end()...)
	}
	h.tail = append(h.tail, p[max(0, len(p)-longestTail):]...)
	return len(p), nil
}

func (h *heard) end() []byte { return h.tail[max(0, len(h.tail)-longestTail):] }

// says reports whether the words are there, in capitals or not.
func (h *heard) says(words string) bool {
	return bytes.Contains(bytes.ToLower(h.end()), bytes.ToLower([]byte(words)))
}
