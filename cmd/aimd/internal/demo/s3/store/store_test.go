package store_test

import (
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/s3/store"
)

type answer struct {
	status int
	header http.Header
	body   string
}

func do(t *testing.T, method, url, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return answer{res.StatusCode, res.Header, string(b)}
}

// open starts a store. A service time of an hour ends when the store closes, so
// that a test can fill all slots for as long as it likes.
func open(t *testing.T, slots int, service time.Duration) *store.Store {
	t.Helper()
	s, err := store.Start(store.Config{Slots: slots, Service: service, Jitter: 0.2, Bucket: "demo"})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestKeepsObjects(t *testing.T) {
	s := open(t, 2, time.Millisecond)
	assert.Equal(t, http.StatusOK, do(t, http.MethodPut, s.URL+"/demo/a", "hello").status)
	assert.Equal(t, "hello", do(t, http.MethodGet, s.URL+"/demo/a", "").body)
	assert.Contains(t, do(t, http.MethodGet, s.URL+"/demo?list-type=2", "").body, "<Key>a</Key>")
	assert.Equal(t, 3, s.Served())
	assert.Equal(t, 1, s.Peak())
	assert.Zero(t, s.Refused())
}

func TestRefusesBeyondItsSlots(t *testing.T) {
	s := open(t, 2, time.Hour)
	for range 2 {
		go func() {
			res, err := http.Get(s.URL + "/demo/a")
			if err == nil {
				_ = res.Body.Close()
			}
		}()
	}
	require.Eventually(t, func() bool { return s.Peak() == 2 }, 10*time.Second, time.Millisecond)

	got := do(t, http.MethodPut, s.URL+"/demo/b", strings.Repeat("x", 1<<20))
	assert.Equal(t, http.StatusServiceUnavailable, got.status)
	assert.Equal(t, "application/xml", got.header.Get("Content-Type"))
	var e struct {
		XMLName                  xml.Name `xml:"Error"`
		Code, Message, RequestId string
	}
	require.NoError(t, xml.Unmarshal([]byte(got.body), &e))
	assert.Equal(t, "SlowDown", e.Code)
	assert.Equal(t, "Please reduce your request rate.", e.Message)
	assert.Equal(t, got.header.Get("X-Amz-Request-Id"), e.RequestId)
	assert.Empty(t, do(t, http.MethodHead, s.URL+"/demo/b", "").body)
	assert.Equal(t, 2, s.Refused())
	assert.Equal(t, 2, s.Peak())
}

func TestWitnessNeverSeesMoreThanTheSlots(t *testing.T) {
	const slots, clients, each = 4, 24, 8
	s := open(t, slots, time.Millisecond)
	var wg sync.WaitGroup
	statuses := make(chan int, clients*each)
	for range clients {
		wg.Go(func() {
			for range each {
				statuses <- do(t, http.MethodGet, s.URL+"/demo/a", "").status
			}
		})
	}
	wg.Wait()
	close(statuses)
	seen := map[int]int{}
	for status := range statuses {
		seen[status]++
	}
	assert.Equal(t, map[int]int{http.StatusNotFound: s.Served(), http.StatusServiceUnavailable: s.Refused()}, seen)
	assert.Equal(t, clients*each, s.Served()+s.Refused())
	assert.LessOrEqual(t, s.Peak(), slots)
	assert.Positive(t, s.Refused())
}

func TestCloseEndsWhatIsServed(t *testing.T) {
	s := open(t, 1, time.Hour)
	ended := make(chan error, 1)
	go func() {
		res, err := http.Get(s.URL + "/demo/a")
		if err == nil {
			_ = res.Body.Close()
		}
		ended <- err
	}()
	require.Eventually(t, func() bool { return s.Peak() == 1 }, 10*time.Second, time.Millisecond)
	s.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("a request outlives the store")
	}
}
