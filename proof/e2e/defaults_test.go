package e2e

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/miniolimit"
)

// shelf is a store without a network, of slots of a time within a fifth. It refuses what is above in a millisecond.
type shelf struct {
	slots   int
	service time.Duration
	// refuses is the share that it refuses whatever the load.
	refuses float64

	mu             sync.Mutex
	busy, attempts int
	has            map[string]bool
}

func (s *shelf) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.attempts++
	full := s.busy == s.slots || rand.Float64() < s.refuses
	if !full {
		s.busy++
	}
	s.mu.Unlock()
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Etag": {`"x"`}}, Body: http.NoBody, Request: r}
	if full {
		time.Sleep(time.Millisecond)
		resp.StatusCode, resp.Header = http.StatusServiceUnavailable, http.Header{"Content-Type": {"application/xml"}}
		resp.Body = io.NopCloser(strings.NewReader("<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"))
		return resp, nil
	}
	time.Sleep(s.service*4/5 + rand.N(s.service*2/5))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.has[r.URL.Path] = true
	return resp, nil
}

// asTheyCome are the SDKs as they come, and under a limiter.
var asTheyCome = map[string]func(*testing.T, string, http.RoundTripper) upload{
	"the AWS SDK": func(_ *testing.T, address string, tr http.RoundTripper) upload {
		return put(pathStyle(config(address, tr)))
	},
	"minio-go": func(t *testing.T, address string, tr http.RoundTripper) upload {
		return minioPut(t, address, minioOptions(tr))
	},
	"awslimit": func(t *testing.T, address string, tr http.RoundTripper) upload {
		return put(limited(address, tr, limiter(t, aimd.Config{})))
	},
	"miniolimit": func(t *testing.T, address string, tr http.RoundTripper) upload {
		opts := minioOptions(tr)
		require.NoError(t, miniolimit.Limit(opts, limiter(t, aimd.Config{})))
		return minioPut(t, address, opts)
	},
}

// upload uploads some KiB each, from goroutines. Who is lost says the store.
func (s *shelf) upload(t *testing.T, client func(*testing.T, string, http.RoundTripper) upload, goroutines, objects int) cost {
	return s.through(t, client(t, "store.example", s), goroutines, objects)
}

// through is the same with a client of the store.
func (s *shelf) through(t *testing.T, send upload, goroutines, objects int) cost {
	body, began := make([]byte, 64<<10), time.Now()
	together(goroutines, objects, func(i int) { _ = send(t.Context(), strconv.Itoa(i), body) })
	return cost{span: time.Since(began).Seconds() / (float64(objects) / float64(s.slots) * s.service.Seconds()), attempts: float64(s.attempts) / float64(objects)}
}

// README: the SDKs as they come, and one under a limiter, upload 2000 objects of 64 KiB from 256 goroutines, without a
// machine in it. -v has the figures.
func TestUploadsAsTheyCome(t *testing.T) {
	lost := map[string]int{}
	for name, client := range asTheyCome {
		if name == "miniolimit" {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			s := &shelf{slots: slots, service: service, has: map[string]bool{}}
			c := s.upload(t, client, 256, 2000)
			lost[name] = 2000 - len(s.has)
			t.Logf("%-12s %v, %d lost", name, c, lost[name])
		})
	}
	assert.Zero(t, lost["awslimit"])
	assert.Greater(t, lost["the AWS SDK"], 1000)
	assert.InDelta(t, 212, lost["minio-go"], 60, "README")
}
