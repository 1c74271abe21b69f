package e2e

import (
	"bytes"
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
	// body, if not nil, is put by each request.
	body []byte
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
	d, err := j.do(ctx, l)
	require.NoError(t, err)
	requireIdle(t, l)
	return d
}

// do does the job under the limiter. The error is about the first request that failed.
func (j *job) do(ctx context.Context, l *limiter.Limiter) (d *done, failed error) {
	tr := transport(0)
	defer tr.CloseIdleConnections()
	rec := &recorder{base: tr}
	d = &done{began: time.Now()}
	for i, err := range aimd.Each(ctx, l, j.numbers(), func(ctx context.Context, i int) error {
		return j.ask(ctx, &http.Client{Transport: rec}, i)
	}) {
		if err != nil && failed == nil {
			failed = fmt.Errorf("request %d: %w", i, err)
		}
	}
	d.took, d.Snapshot, d.sends, d.most = time.Since(d.began), l.Snapshot(), rec.sends, rec.most
	return d, failed
}

// numbers yields the numbers of the requests.
func (j *job) numbers() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < j.requests && (j.until.IsZero() || time.Now().Before(j.until)) && yield(i); i++ {
		}
	}
}

// ask sends one attempt, and requires that the answer belongs to it.
func (j *job) ask(ctx context.Context, c *http.Client, i int) error {
	method, path := http.MethodGet, fmt.Sprint("/", i)
	if j.body != nil {
		method = http.MethodPut
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+j.address+path, bytes.NewReader(j.body))
	if err != nil {
		return err
	}
	got, err := exchange(c, req)
	if err == nil && got != path {
		err = fmt.Errorf("answer to %s: %q", path, got)
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
