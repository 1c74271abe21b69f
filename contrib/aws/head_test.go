package aimdaws_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rare is an HTTP client whose service takes 20 ms for an answer of the status, and refuses one request
// in a hundred.
type rare struct {
	status int
	mu     sync.Mutex
	random *rand.Rand
}

func (r *rare) Do(req *http.Request) (*http.Response, error) {
	time.Sleep(20 * time.Millisecond)
	r.mu.Lock()
	defer r.mu.Unlock()
	status := r.status
	if r.random.IntN(100) == 0 {
		status = http.StatusServiceUnavailable
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
}

// To look for objects that are not there is work that the service did: it takes no longer than to find
// them.
func TestHeadsOfMissingObjectsAreAsFastAsOfFoundOnes(t *testing.T) {
	run := func(status int) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			l := newLimiter(t)
			c := newStore(t).client(l, func(cfg *aws.Config) {
				cfg.HTTPClient = &rare{status: status, random: rand.New(rand.NewPCG(9, 2))}
			})
			start := time.Now()
			var all sync.WaitGroup
			for range 64 {
				all.Go(func() {
					for range 100 {
						_, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String("k")})
						var missing *types.NotFound
						assert.Equal(t, status == http.StatusNotFound, errors.As(err, &missing), "%v", err)
					}
				})
			}
			all.Wait()
			took = time.Since(start)
			s := l.Snapshot()
			require.EqualValues(t, 6400, s.Successes+s.ClientErrors)
			t.Logf("%d: %v, %v", status, took, s)
		})
		return took
	}
	require.InEpsilon(t, run(http.StatusOK), run(http.StatusNotFound), 0.1)
}
