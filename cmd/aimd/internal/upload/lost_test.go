package upload

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The answer to the completion is lost: the second try finds no upload, but the object.
func TestCompletionWhoseAnswerIsLost(t *testing.T) {
	w := newWorld(t)
	content := random(9 << 10)
	w.write("large", content)
	var lost atomic.Bool
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !r.URL.Query().Has("uploadId") || lost.Swap(true) {
			return false
		}
		w.Next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
	o := w.run()
	require.NoError(t, o.err)
	assert.Equal(t, content, w.stored()["p/large"])
}

func TestMaxAttempts(t *testing.T) {
	w := newWorld(t)
	w.write("a", "x")
	w.set(func(rw http.ResponseWriter, r *http.Request) bool { return isPut(r) && refuse(rw, r) })
	o := w.run(func(c *Config) { c.MaxAttempts = 3 })
	require.EqualError(t, o.err, "1 of 1 files failed")
	assert.Equal(t, 3, w.count("PUT"))
	assert.Equal(t, 1, w.count("HEAD"), "asked whether it has it all the same")
}

// With bounded attempts all answers may be lost, and the store have it.
func TestPutWhoseAnswersAreLost(t *testing.T) {
	w := newWorld(t)
	w.write("a", "content")
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		if !isPut(r) {
			return false
		}
		w.Next.ServeHTTP(httptest.NewRecorder(), r)
		return refuse(rw, r)
	})
	o := w.run(func(c *Config) { c.MaxAttempts = 2 })
	require.NoError(t, o.err)
	assert.Equal(t, "uploaded", o.status("a"))
	assert.Equal(t, "content", w.stored()["p/a"])
}
