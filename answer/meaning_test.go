package answer_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/answer"
)

// As overrides whatever the answer says; Success makes it one, and Unknown takes the override back.
func TestAs(t *testing.T) {
	for _, status := range []int{200, 403, 503} {
		a := answer.Read(status, map[string][]string{"X-Should-Retry": {"false"}, "Retry-After": {"7"}}, nil, time.Time{})
		for m := answer.Success; m <= answer.Hurt; m++ {
			b := a.As(m)
			assert.Equal(t, m, b.Meaning(time.Hour), "%d as %v", status, m)
			assert.Equal(t, m != answer.Success && m != answer.Partly && m != answer.Mostly, b.Failed(), "%d as %v", status, m)
			assert.Equal(t, 7*time.Second, b.Wait)
			assert.Equal(t, a, b.As(answer.Unknown))
		}
	}
}

// What the document and the header say, of an answer that began as a success too.
func TestWhatIsReadOfAnAnswer(t *testing.T) {
	for _, c := range []struct {
		status       int
		header, body string
		failed       bool
		codes        string
		wantStatus   int
	}{
		{200, "", ``, false, "", 200},
		{200, "", `{"code":"SlowDown","message":"slow down"}`, false, "slowdown", 200},
		{200, "", `{"error":[],"code":"SlowDown"}`, false, "slowdown", 200},
		{200, "", `{"error":null,"code":"SlowDown"}`, false, "slowdown", 200},
		{200, "", `{"error":[{"code":"SlowDown"}]}`, true, "slowdown", 200},
		{200, "", `{"error":{"code":503}}`, true, "503", 503},
		{200, "", `{"error":{"code":399}}`, false, "399", 200},
		{200, "", `{"error":{"code":600}}`, false, "600", 200},
		{200, "", `<Error><Code>503</Code>` + "\n" + `SlowDown</Error>`, true, "503", 503},
		{200, "", `<Error><Code>SlowDown</b></Error>`, true, "slowdown", 200},
		{200, "", `<List><Code>SlowDown</Code></List>`, false, "", 200},
		{429, "X-Envoy-Ratelimited", ``, true, "ratelimited", 429},
		{429, "", `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"}]}}`, true, "googlerpcquotafailure", 429},
	} {
		a := answer.Read(c.status, map[string][]string{c.header: {"true"}}, []byte(c.body), noon)
		assert.Equal(t, c.failed, a.Failed(), c.body)
		assert.Equal(t, c.codes, strings.Join(a.Codes, " "), c.body)
		assert.Equal(t, c.wantStatus, a.Status, c.body)
		if !a.Begun {
			assert.Equal(t, !c.failed, a.Meaning(soon) == answer.Success, c.body)
		}
	}
	assert.Equal(t, answer.Unknown, answer.Answer{}.Meaning(soon))
}
