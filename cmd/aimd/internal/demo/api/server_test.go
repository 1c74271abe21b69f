package api

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBucket(t *testing.T) {
	start := time.Now()
	a := &server{limits: Limits{Rate: 100, Burst: 3}, tokens: 3, filled: start}
	for _, step := range []struct {
		at    time.Duration
		taken bool
	}{
		{0, true}, {0, true}, {0, true}, {0, false},
		{5 * time.Millisecond, false},
		{10 * time.Millisecond, true},
		{10 * time.Millisecond, false},
		{9 * time.Millisecond, false}, // a clock that runs backwards
		{time.Second, true}, {time.Second, true}, {time.Second, true}, {time.Second, false},
	} {
		assert.Equal(t, step.taken, a.take(start.Add(step.at)), "at %v", step.at)
	}
}

func post(t *testing.T, url string) *http.Response {
	t.Helper()
	res, err := http.Post(url, "", nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res
}

func TestServesAndRefuses(t *testing.T) {
	a, err := start(Limits{Rate: 1e-9, Burst: 2, RetryAfter: 1500 * time.Millisecond})
	require.NoError(t, err)
	defer a.Close()
	assert.Equal(t, http.StatusNoContent, post(t, a.URL+"/jobs/1").StatusCode)
	assert.Equal(t, http.StatusNoContent, post(t, a.URL+"/jobs/1").StatusCode)
	res := post(t, a.URL+"/jobs/2")
	assert.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	assert.Equal(t, "2", res.Header.Get("Retry-After"))
	assert.Equal(t, 2, a.servedTimes("1"))
	assert.Equal(t, 0, a.servedTimes("2"))
	a.Close()
	a.Close()
}
