package e2e

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
)

// job is many small requests to an API, each sent again until it is answered.
type job struct {
	address  string
	requests int
	// until is when the last request begins; zero: there is no end.
	until time.Time
	// settings are the options of the limiter.
	settings []aimd.Option
}

// done is a job that was done.
type done struct {
	limiter.Snapshot
	began time.Time
	took  time.Duration
	// sends are the attempts in order, most how many were in flight at most.
	sends []send
	most  int
}

// send is one attempt: when it went, and how it was answered. Status 0: not at all.
type send struct {
	at     time.Time
	took   time.Duration
	status int
}

// cost is the job's time and attempts, at a service that accepts that many requests a second.
func (d *done) cost(requests int, rate float64) cost {
	return cost{span: d.took.Seconds() * rate / float64(requests), attempts: float64(len(d.sends)) / float64(requests)}
}

// times returns the round trips of the accepted attempts.
func (d *done) times() (all []time.Duration) {
	for _, s := range d.sends {
		if s.status == http.StatusOK {
			all = append(all, s.took)
		}
	}
	return all
}

// run does the job under the law, and requires an answer to each request.
func (j *job) run(ctx context.Context, t *testing.T, w law) *done {
	t.Helper()
	l := w.limiter(t, j.settings...)
	rec := &recorder{base: newTransport(t, 0)}
	d := &done{began: time.Now()}
	for i, err := range aimd.Each(ctx, l, j.numbers(), func(ctx context.Context, i int) error {
		return ask(ctx, &http.Client{Transport: rec}, fmt.Sprintf("http://%s/%d", j.address, i))
	}) {
		require.NoError(t, err, "request %d", i)
	}
	d.took = time.Since(d.began)
	requireIdle(t, l)
	d.Snapshot, d.sends, d.most = l.Snapshot(), rec.sends, rec.most
	return d
}

// numbers yields the numbers of the requests.
func (j *job) numbers() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < j.requests && (j.until.IsZero() || time.Now().Before(j.until)) && yield(i); i++ {
		}
	}
}

// ask sends one attempt, and requires that the answer belongs to it.
func ask(ctx context.Context, c *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	got, err := exchange(c, req)
	if err == nil && got != req.URL.Path {
		err = fmt.Errorf("answer to %s: %q", req.URL.Path, got)
	}
	return err
}

// exchange sends a request, and returns the body of an answer that accepts it.
func exchange(c *http.Client, req *http.Request) (string, error) {
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if err := httplimit.Check(resp); err != nil {
		return "", err
	}
	got, err := io.ReadAll(resp.Body)
	return string(got), err
}

// recorder records what is sent.
type recorder struct {
	base http.RoundTripper

	mu             sync.Mutex
	sends          []send
	inFlight, most int
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	r.mu.Lock()
	n := len(r.sends)
	r.sends = append(r.sends, send{at: began})
	r.inFlight++
	r.most = max(r.most, r.inFlight)
	r.mu.Unlock()
	resp, err := r.base.RoundTrip(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight--
	r.sends[n].took = time.Since(began)
	if err == nil {
		r.sends[n].status = resp.StatusCode
	}
	return resp, err
}
