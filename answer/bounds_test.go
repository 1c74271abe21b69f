package answer_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/body"
)

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
