package proxy

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	answers "github.com/aimd-go/aimd/answer"
)

// ruleFile is a file with that text.
func ruleFile(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "answers.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// The rules of docs/any-language.md, by the forms of their services.
func TestRulesForAnswers(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/any-language.md")
	require.NoError(t, err)
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, example)
	rules, err := ruled(ruleFile(t, string(example[1])+"- {header: X-Reason, word: Tea, means: passing}\n"))
	require.NoError(t, err)
	p := new(proxy)
	p.answers.Store(&rules)
	for _, c := range []struct {
		status int
		body   string
		header map[string][]string
		want   answers.Meaning
	}{
		{200, `{"success":false,"errors":[{"code":"1"},{"code":"606"}]}`, nil, answers.Refused},
		{400, `{"success":false,"errors":[{"code":"606"}]}`, nil, answers.Final},
		{200, `{"errors":[{"code":"6060"}],"requestId":"606"}`, nil, answers.Unclear},
		{200, `{"status":"0","result":"Max calls per sec RATE LIMIT reached (5/sec)"}`, nil, answers.Refused},
		{200, `{"errcode":45009}`, nil, answers.Spent},
		{200, `{"errcode":{"a":45009}}`, nil, answers.Unclear},
		{418, `{}`, map[string][]string{"X-Reason": {"no tea, please"}}, answers.Passing},
		{200, `rate limit reached`, nil, answers.Success},
	} {
		a := p.reads(answers.Read(c.status, c.header, []byte(c.body), time.Time{}))
		assert.Equal(t, c.want, a.Meaning(0), c.body)
	}
}

// A file that is wrong is an error that says so.
func TestRulesForAnswersThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"- {json: a, word: b, mean: refused}":                "mean",
		"- {json: a, word: b, means: no}":                    `rule 1: means "no": want refused, spent, closed or passing`,
		"- {json: a, header: b, word: c, means: spent}":      "rule 1: want json",
		"- {word: c, means: spent}":                          "rule 1: want json",
		"- {json: a, means: spent}":                          "rule 1: word is missing",
		"- {status: 199, json: a, word: c, means: spent}":    "rule 1: status 199",
		"- {status: 600, json: a, word: c, means: spent}":    "rule 1: status 600",
		"- {status: 200, json: a, word: c, means: closed}\n": "",
	} {
		_, err := ruled(ruleFile(t, text))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
	_, err := ruled("nowhere")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// SIGHUP reads the file again, and a wrong one changes nothing.
func TestRulesForAnswersAreReadAgain(t *testing.T) {
	p := made(t, func(s *settings) { s.answersFile = ruleFile(t, "- {json: a, word: b, means: spent}") })
	s := p.settings
	for _, text := range []string{"- {json: a, word: b, means: closed}", "- {json: a}"} {
		require.NoError(t, os.WriteFile(s.answersFile, []byte(text), 0o600))
		p.reread()
		assert.Equal(t, answers.Closed, p.reads(answers.Read(200, nil, []byte(`{"a":"b"}`), time.Time{})).Meaning(0))
	}
	_, err := newProxy(s, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "--answers "+s.answersFile+": rule 1")
}

// A refusal within a 200 is sent again, by a rule of the file and by the table, for a GET too.
func TestARefusalWithinA200IsSentAgain(t *testing.T) {
	for name, document := range map[string]string{
		"by a rule":      `{"state":"come back"}`,
		"by the table":   `{"ok":false,"error":"ratelimited"}`,
		"in a stream":    "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\"}}\n\n",
		"an unknown one": `{"ok":false,"error":"channel_not_found"}`,
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			inBubble(t, handled(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if name == "in a stream" {
					w.Header().Set("Content-Type", "text/event-stream")
				}
				if asked.Inc() == 1 {
					_, _ = io.WriteString(w, document)
				}
			}), func(s *settings) { s.answersFile = ruleFile(t, "- {json: state, word: come back, means: refused}") }, func(t *testing.T, b bubble) {
				status, _, text := b.ask(t, get("/"))
				assert.Equal(t, 200, status)
				if name == "an unknown one" {
					assert.Equal(t, document, text)
				} else {
					assert.Empty(t, text)
				}
			})
		})
	}
}

// Five seconds of failures without a success are said in the log, whatever they are, once until a success.
func TestFailuresWithoutASuccessAreSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pulse{made: time.Now()}
		time.Sleep(time.Second)
		said := func(after time.Duration) bool {
			time.Sleep(after)
			return p.fails()
		}
		assert.False(t, said(0))
		assert.False(t, said(silent-1))
		assert.True(t, said(1))
		assert.False(t, said(silent))
		time.Sleep(time.Nanosecond)
		p.beat()
		time.Sleep(time.Nanosecond)
		assert.False(t, said(0))
		assert.True(t, said(silent))
	})
}

// DynamoDB refuses with 400 and a code in JSON, Route 53 in XML, and SDKs ask for gzip. No program of 400 hears of it, and it
// takes at most 1.15 of the time that the same service takes which refuses with 429.
func TestRefusedBy400(t *testing.T) {
	const (
		inJSON = `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"The level of configured provisioned throughput for the table was exceeded."}`
		inXML  = `<?xml version="1.0"?><ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>`
	)
	eightSlots := func(refuse http.HandlerFunc) func(net.Conn) {
		var busy atomic.Int32
		return handled(func(w http.ResponseWriter, r *http.Request) {
			defer busy.Dec()
			if busy.Inc() > 8 {
				time.Sleep(5 * time.Millisecond)
				refuse(w, r)
				return
			}
			time.Sleep(50 * time.Millisecond)
		})
	}
	run := func(refuse http.HandlerFunc) (took time.Duration) {
		inBubble(t, eightSlots(refuse), nil, func(t *testing.T, b bubble) {
			var by map[int]int
			by, took = b.together(t, 400)
			assert.Equal(t, map[int]int{200: 400}, by)
		})
		return took
	}
	best := run(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	for kind, document := range map[string]string{"application/x-amz-json-1.0": inJSON, "text/xml": inXML} {
		for _, packed := range []bool{false, true} {
			took := run(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				if !packed {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = w.Write([]byte(document))
					return
				}
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(http.StatusBadRequest)
				z := gzip.NewWriter(w)
				_, _ = z.Write([]byte(document))
				_ = z.Close()
			})
			assert.LessOrEqual(t, took.Seconds(), 1.15*best.Seconds(), "%s, packed: %v", kind, packed)
		}
	}
}
