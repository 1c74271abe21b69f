package answer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/answer"
)

// A success that talks of limits is one: chats, logs, jobs that failed, items at fault. Rows are in testdata/friends.txt.
func TestFalseFriends(t *testing.T) {
	text, err := os.ReadFile("testdata/friends.txt")
	require.NoError(t, err)
	rows := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	for _, row := range rows {
		c := strings.Split(row, "\t")
		require.Len(t, c, 4, row)
		a := answer.Read(200, map[string][]string{"Content-Type": {c[1]}}, []byte(strings.ReplaceAll(c[2], `\n`, "\n")), noon)
		assert.Equal(t, "success", said(a), "%s: codes %q", c[2], a.Codes)
		assert.False(t, a.Failed(), c[2])
	}
	files, err := filepath.Glob("testdata/*.http")
	require.NoError(t, err)
	within, others := len(rows), 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.Contains(strings.ToLower(string(text)), "false friend") {
			others++
		}
	}
	assert.GreaterOrEqual(t, within, 60, "within a 200")
	assert.GreaterOrEqual(t, within+others, 150)
}

// An error in words that no row has is no refusal, and no success either. The program gets the answer.
func TestAnUnknownErrorWithinASuccess(t *testing.T) {
	for body, want := range map[string]answer.Meaning{
		`{"ok":false,"error":"channel_not_found"}`:                        answer.Fault,
		`{"ok":false,"error":"no_idea"}`:                                  answer.Unclear,
		`{"errors":[{"message":"boom"}]}`:                                 answer.Unclear,
		`{"error":{"code":401}}`:                                          answer.Final,
		`{"data":{"a":1},"errors":[{"message":"boom"}]}`:                  answer.Success,
		`{"data":{"a":1},"errors":[{"extensions":{"code":"THROTTLED"}}]}`: answer.Partly,
	} {
		a := answer.Read(200, nil, []byte(body), noon)
		assert.False(t, a.Failed(), body)
		assert.Equal(t, want, a.Meaning(soon), body)
	}
}

// From a tenth of the items on, what was refused speaks of load.
func TestAShareOfABatch(t *testing.T) {
	for items, want := range map[int]answer.Meaning{9: answer.Partly, 10: answer.Success} {
		body := `{"errors":true,"items":[{"index":{"status":429}}` + strings.Repeat(`,{"index":{"status":201}}`, items) + `]}`
		assert.Equal(t, want, answer.Read(200, nil, []byte(body), noon).Meaning(soon), items)
	}
	for refused, want := range map[int]answer.Meaning{2: answer.Success, 3: answer.Partly} { // of 25
		body := `{"UnprocessedItems":{"a":[` + strings.TrimSuffix(strings.Repeat(`{"PutRequest":{}},`, refused), ",") + `]}}`
		assert.Equal(t, want, answer.Read(200, nil, []byte(body), noon).Meaning(soon), refused)
	}
	for refused, want := range map[int]answer.Meaning{9: answer.Success, 10: answer.Partly} { // of 100
		body := `{"UnprocessedKeys":{"a":{"Keys":[` + strings.TrimSuffix(strings.Repeat(`{"id":{}},`, refused), ",") + `]}}}`
		assert.Equal(t, want, answer.Read(200, nil, []byte(body), noon).Meaning(soon), refused)
	}
	// Eight errors of a list of documents are judged.
	body := "[" + strings.Repeat(`{"jsonrpc":"2.0","error":{"code":404}},`, 7) + strings.Repeat(`{"jsonrpc":"2.0","error":{"code":429}},`, 2) + "{}]"
	assert.Equal(t, answer.Partly, answer.Read(200, nil, []byte(body), noon).Meaning(soon))
	body = strings.Replace(body, `"code":429`, `"code":404`, 1)
	assert.Equal(t, answer.Success, answer.Read(200, nil, []byte(body), noon).Meaning(soon))
	// And eight codes of a batch.
	for codes, want := range map[int]answer.Meaning{7: answer.Partly, 8: answer.Success} {
		body := `{"Failed":[`
		for i := range codes {
			body += `{"Code":"E` + string(rune('a'+i)) + `"},`
		}
		body += strings.Repeat(`{"Code":"Throttled"},`, 2) + `{}]}`
		assert.Equal(t, want, answer.Read(200, nil, []byte(body), noon).Meaning(soon), codes)
	}
}

// docs/quota.md: a quota that a success of GraphQL tells is one, if no header has it.
func TestAQuotaWithinASuccess(t *testing.T) {
	shopify := `{"data":{"shop":{"name":"limits"}},"extensions":{"cost":{"requestedQueryCost":1,"throttleStatus":{"maximumAvailable":1000.0,"currentlyAvailable":900.0,"restoreRate":50.0}}}}`
	assert.Equal(t, []answer.Quota{{Name: "graphql", Limit: 1000, Left: 900, Reset: 2 * time.Second, Bucket: true, Amounts: true}},
		answer.Read(200, nil, []byte(shopify), noon).Quotas)
	github := `{"data":{"viewer":{"login":"a"},"rateLimit":{"limit":5000,"cost":1,"remaining":4999,"resetAt":"2026-11-25T12:10:00Z"}}}`
	assert.Equal(t, []answer.Quota{{Name: "graphql", Limit: 5000, Left: 4999, Reset: 10 * time.Minute, Amounts: true}},
		answer.Read(200, nil, []byte(github), noon).Quotas)
	header := map[string][]string{"X-Ratelimit-Limit": {"5000"}, "X-Ratelimit-Remaining": {"7"}, "X-Ratelimit-Reset": {"60"}, "X-Ratelimit-Resource": {"graphql"}}
	quotas := answer.Read(200, header, []byte(github), noon).Quotas
	require.Len(t, quotas, 1)
	assert.EqualValues(t, 7, quotas[0].Left)
	assert.Empty(t, answer.Read(200, nil, []byte(`{"data":{"rateLimit":{"limit":"many"}}}`), noon).Quotas)
}

// A document without a name of an error costs a search, and no allocation.
func TestASuccessThatSaysNothingCostsASearch(t *testing.T) {
	body := []byte(`{"items":[` + strings.Repeat(`{"id":12345,"name":"a name of a thing","status":"ready"},`, 70) + `{}]}`)
	assert.Greater(t, len(body), 4000)
	assert.Zero(t, testing.AllocsPerRun(100, func() { assert.False(t, answer.Speaks(body)) }))
	files, err := filepath.Glob("testdata/*_200_*.http")
	require.NoError(t, err)
	for _, file := range files { // what says anything is not passed over
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if first, raw, _ := strings.Cut(string(text), "\n"); first != "success" && !strings.Contains(raw, "multipart") {
			_, body, _ := strings.Cut(raw, "\n\n")
			assert.True(t, answer.Speaks([]byte(body)), file)
		}
	}
}

// The start of the body is there for rules of one's own, with the codes and the message of a success.
func TestWhatASuccessSays(t *testing.T) {
	a := answer.Read(200, nil, []byte(`{"code":"X-1","message":"Too Fast","data":{"message":"no"}}`), noon)
	assert.Equal(t, []string{"x1"}, a.Codes)
	assert.Equal(t, "too fast", a.Text)
	assert.JSONEq(t, `{"code":"X-1","message":"Too Fast","data":{"message":"no"}}`, string(a.Body))
	assert.Equal(t, answer.Refused, a.With("SlowDown", "", 0).Meaning(soon), "an SDK says more")
}
