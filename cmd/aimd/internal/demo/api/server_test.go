package api

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func post(t *testing.T, url string) *http.Response {
	t.Helper()
	res, err := http.Post(url, "", nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return res
}

func TestServesAndRefuses(t *testing.T) {
	a := start(Limits{Rate: 1e-9, Burst: 2, RetryAfter: 1500 * time.Millisecond})
	defer a.close()
	assert.Equal(t, http.StatusNoContent, post(t, a.URL+"/jobs/1").StatusCode)
	assert.Equal(t, http.StatusNoContent, post(t, a.URL+"/jobs/1").StatusCode)
	res := post(t, a.URL+"/jobs/2")
	assert.Equal(t, http.StatusTooManyRequests, res.StatusCode)
	assert.Equal(t, "2", res.Header.Get("Retry-After"))
	assert.Equal(t, 2, a.servedTimes("1"))
	assert.Equal(t, 0, a.servedTimes("2"))
}
