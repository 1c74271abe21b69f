package answer_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/body"
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
		body = "<DeleteResult><Error><Code>SlowDown</Code></Error>" + strings.Repeat("<Deleted><Key>b</Key><VersionId>1</VersionId></Deleted>", items)
		assert.Equal(t, want, answer.Read(200, nil, []byte(body), noon).Meaning(soon), "%d deleted", items)
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

// Of a document no more is read than these bounds say: what stands at the bound counts, and what stands behind it does not.
func TestHowMuchOfADocumentIsRead(t *testing.T) {
	found := func(body string, codes ...string) bool {
		return assert.ObjectsAreEqual(codes, answer.Read(400, nil, []byte(body), noon).Codes)
	}
	const code = `{"code":"SlowDown"}`
	for _, blanks := range []int{0, 1} { // bytes: the last one is that after the code
		document := strings.Repeat(" ", body.Most-len(code)+1+blanks) + code
		assert.Equal(t, blanks == 0, found(document, "slowdown"), "%d bytes", len(document)-1)
	}
	assert.Equal(t, 64<<10, body.Most)
	for bytes, want := range map[int]bool{8<<10 - 1: true, 8 << 10: false} { // before the code of an XML
		document := "<Error><!--" + strings.Repeat("x", bytes-len("<Error><!----><Code>")) + "--><Code>S"
		assert.Equal(t, want, found(document, "s"), "%d bytes", bytes)
	}
	assert.Len(t, answer.Read(400, nil, []byte(strings.Repeat("no ", 8<<10)), noon).Text, 8<<10)
	several := "[" + code + "," + code
	for i := range 31 {
		assert.Len(t, answer.Read(400, nil, []byte(several), noon).Codes, 1+i, "each once")
		several += fmt.Sprintf(`,{"code":"c%d"}`, i)
	}
	assert.Len(t, answer.Read(400, nil, []byte(several+`,{"code":"one more"}`), noon).Codes, 32)
	for length, want := range map[int]int{128: 1, 129: 0} {
		assert.Len(t, answer.Read(400, nil, []byte(strings.Repeat("x", length)), noon).Codes, want, "a code of %d", length)
	}
	for length, page := range map[int]bool{256: true, 257: false} { // a page is for people
		a := answer.Read(400, nil, []byte(strings.Repeat("-", length-len("<html"))+"<html"), noon)
		assert.Equal(t, page, a.Text == "", "a page of %d", length)
	}
}

// What a quota may say.
func TestPossibleQuotas(t *testing.T) {
	const day = 24 * time.Hour
	for q, want := range map[answer.Quota]bool{
		{Limit: 1, Left: 0, Reset: day}:            true,
		{Limit: -1, Left: 5}:                       true,
		{Limit: 1e12, Left: 1e12}:                  true,
		{Limit: 1e12 + 1}:                          false,
		{Limit: 5, Left: 1e12 + 1}:                 false,
		{Limit: 0.5}:                               false,
		{Limit: 5, Left: -1}:                       false,
		{Limit: 5, Reset: day + 1}:                 false,
		{Limit: 5, Left: math.Inf(1)}:              false,
		{InFlight: true, Limit: 1, Left: -1}:       true,
		{InFlight: true, Limit: 1e12, Reset: 9e18}: true,
		{InFlight: true, Limit: 0.5}:               false,
		{InFlight: true, Limit: 1e12 + 1}:          false,
	} {
		assert.Equal(t, want, q.Valid(), "%+v", q)
	}
	assert.Equal(t, strings.Repeat("n", 64), answer.Cleaned(strings.Repeat("n", 65)))
	assert.Equal(t, "ab", answer.Cleaned("a\x00\xff\u2028b"))
}

// What no file of testdata has: a status that comes alone.
func TestAStatusAlone(t *testing.T) {
	for status, want := range map[int]answer.Meaning{
		400: answer.Final, 499: answer.Passing, 420: answer.Refused, 430: answer.Refused, 529: answer.Refused, 507: answer.Final, 530: answer.Unclear,
		599: answer.Slow, 600: answer.Final,
	} {
		assert.Equal(t, want, answer.Read(status, nil, nil, noon).Meaning(soon), status)
	}
	// No time and no word makes these a refusal.
	for _, status := range []int{401, 404, 405, 407, 410, 411, 412, 414, 415, 416, 422, 501, 505} {
		alone := answer.Read(status, nil, nil, noon).Meaning(soon)
		assert.Contains(t, []answer.Meaning{answer.Fault, answer.Final}, alone, status)
		a := answer.Read(status, map[string][]string{"Retry-After": {"7"}}, []byte(`{"code":"SlowDown"}`), noon)
		assert.Equal(t, alone, a.Meaning(soon), status)
	}
}

// The error of an SDK: it adds to an answer what the answer lacks.
func TestAnErrorWithoutAnAnswer(t *testing.T) {
	a := answer.Of("429", "Slow Down", 2*366*24*time.Hour)
	assert.Equal(t, answer.Answer{Status: 429, Codes: []string{"429"}, Text: "slow down", Wait: year}, a)
	assert.Zero(t, answer.Of("", "", -time.Second))
	b := a.With("Throttling", "another", time.Second)
	assert.Equal(t, []string{"429", "throttling"}, b.Codes)
	assert.Equal(t, []any{a.Text, a.Wait}, []any{b.Text, b.Wait})
	assert.Len(t, a.Codes, 1)
	b = answer.Answer{Status: 503}.With("", "Busy", time.Second)
	assert.Equal(t, answer.Answer{Status: 503, Text: "busy", Wait: time.Second}, b)
}

// A body in a compression that is not known is not read.
func TestEncodings(t *testing.T) {
	for encoding, want := range map[string]int{"": 1, "identity": 1, "gzip": 1, "x-gzip": 1, " AWS-chunked, gzip": 1, "br": 0} {
		h := map[string][]string{"Content-Encoding": {encoding}}
		assert.Len(t, answer.Read(400, h, []byte("\ufeff{\"code\":\"SlowDown\"}"), noon).Codes, want, encoding)
	}
}
