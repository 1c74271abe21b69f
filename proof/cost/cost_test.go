// Package cost holds what reading an answer costs, against reading as much JSON in the same run: a hostile service sends
// anything. Each counts by its fastest batch, so that other work on the machine does not.
package cost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/answer"
)

// fastest is the time of f at its fastest, in nanoseconds.
func fastest(f func()) float64 {
	least := math.Inf(1)
	for began := time.Now(); time.Since(began) < 100*time.Millisecond; {
		from := time.Now()
		for range 8 {
			f()
		}
		least = min(least, float64(time.Since(from))/8)
	}
	return least
}

// document is a valid JSON of that size, as an API has it.
func document(size int) []byte {
	const item = `{"id":12345,"name":"a name of a thing","status":"ready","tags":["a","b"]},`
	return []byte(`{"items":[` + strings.Repeat(item, (size-12)/len(item)) + `{}]}`)
}

// A look at 4 KiB of JSON that names nothing costs at most four searches for six words.
func TestALookCostsFourSearches(t *testing.T) {
	body := document(4 << 10)
	var words [][]byte
	for word := range strings.FieldsSeq("error errors Failed UnprocessedItems throttleStatus rateLimit") {
		words = append(words, []byte(word))
	}
	search := fastest(func() {
		for _, word := range words {
			if bytes.Contains(body, word) {
				t.Error(word)
			}
		}
	})
	look := fastest(func() {
		if answer.Speaks(body) {
			t.Error("it names nothing")
		}
	})
	t.Logf("%.2f times the search", look/search)
	assert.LessOrEqual(t, look/search, 4.)
	assert.Zero(t, testing.AllocsPerRun(100, func() { answer.Speaks(body) }))
}

// hostile are 64 KiB that take long to read.
func hostile(t *testing.T) map[string][]byte {
	all := map[string][]byte{}
	for name, text := range map[string]string{
		"numbers": "0,", "lists": "[", "objects": `{"a":1},`, "codes": `{"code":"x"},`, "messages": `{"message":"\u0041"},`, "times": `{"retry_after":"x"},`,
		"errors": `{"error":"x","status":1},`, "items": `{"index":{"status":429}},`, "elements": "<a>", "a text": "rate limi", "events": "data: x\n",
		"error events": "event: error\ndata: {\"error\":{\"code\":1}}\n\n", "keys": "<Error><Code>SlowDown</Code></Error>", "entities": "<message>&amp;</message>",
	} {
		for _, begin := range []string{"", "[", `{"errors":true,"items":[`, `{"error":[`, "<Error>", "<DeleteResult>"} {
			all[begin+name] = []byte((begin + strings.Repeat(text, 64<<10/len(text)+1))[:64<<10])
		}
	}
	files, err := filepath.Glob("../../answer/testdata/*.http")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files { // what services say, again and again
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if _, body, _ := bytes.Cut(text, []byte("\n\n")); len(bytes.TrimSpace(body)) > 0 {
			all[filepath.Base(file)] = bytes.Repeat(body, 64<<10/len(body)+1)[:64<<10]
		}
	}
	return all
}

// 64 KiB of anything cost at most 40 times json.Valid of as much, and below 50 allocations.
func TestHostileBodiesCostFortyTimesTheirJSON(t *testing.T) {
	good := document(64 << 10)
	valid := fastest(func() { json.Valid(good) })
	worst, which := 0., ""
	for name, body := range hostile(t) {
		for _, status := range []int{200, 429} {
			for _, kind := range []string{"application/json", "text/event-stream", "multipart/mixed"} {
				header := http.Header{"Content-Type": {kind}}
				read := func() { answer.Read(status, header, body, time.Time{}).Meaning(time.Hour) }
				from := time.Now()
				read()
				once := float64(time.Since(from))
				if once > 10*valid { // may be the machine
					once = fastest(read)
				}
				if share := once / valid; share > worst {
					worst, which = share, fmt.Sprint(name, " ", status, " ", kind)
				}
				assert.Less(t, testing.AllocsPerRun(1, read), 50., "%s, %d, %s", name, status, kind)
			}
		}
	}
	t.Logf("%.1f times the JSON: %s", worst, which)
	assert.LessOrEqual(t, worst, 40.)
}

// 1 MB of 255 headers with quotas costs at most 40 times json.Valid of 64 KiB.
func TestManyQuotasCostFortyTimesAJSON(t *testing.T) {
	good := document(64 << 10)
	valid := fastest(func() { json.Valid(good) })
	for name, of := range map[string]func(i int) (name, value string){
		"limits of their own": func(i int) (string, string) {
			return fmt.Sprintf("X-Ratelimit-Limit-%d", i), strings.Repeat("9", 4<<10)
		},
		"rests of their own": func(i int) (string, string) {
			return fmt.Sprintf("X-Ratelimit-Remaining-%d", i), strings.Repeat("1, ", 1300)
		},
		"lists": func(i int) (string, string) {
			return fmt.Sprintf("X-Ratelimit-%d", i), strings.Repeat(`"a";r=1;t=1,`, 340)
		},
		"long names": func(i int) (string, string) {
			return "X-Ratelimit-Limit-" + strings.Repeat("a", 4000) + fmt.Sprint(i), "1"
		},
	} {
		header := http.Header{"Ratelimit": {strings.Repeat(`"a";r=1;t=1,`, 340)}}
		for i := range 254 {
			key, value := of(i)
			header.Set(key, value)
		}
		share := fastest(func() { answer.Read(200, header, nil, time.Time{}) }) / valid
		t.Logf("%s: %.1f times", name, share)
		assert.LessOrEqual(t, share, 40., name)
	}
}
