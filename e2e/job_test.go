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
)

// job is many small requests to an API, each sent again until it is answered.
type job struct {
	address  string
	requests int
	// until is the time when the last request begins; zero: there is no end.
	until time.Time
	// settings are the options of the limiter.
	settings aimd.Config
}

// done is a job that was done.
type done struct {
	aimd.Snapshot
	began time.Time
	took  time.Duration
	// sends are the attempts in order.
	sends []send
}

// send is one attempt: when it went, and how it was answered. Status 0: not at all.
type send struct {
	at     time.Time
	took   time.Duration
	status int
}

// accepted returns when the accepted attempts were sent, and their round trips.
func (d *done) accepted() (at moments, times []time.Duration) {
	for _, s := range d.sends {
		if s.status == http.StatusOK {
			at, times = append(at, s.at), append(times, s.took)
		}
	}
	return at, times
}

// sent is the time when the attempts were sent.
func (d *done) sent() (at moments) {
	for _, s := range d.sends {
		at = append(at, s.at)
	}
	return at
}

// moments are when something was done, in order.
type moments []time.Time

// between is how often it was done from a moment to another.
func (m moments) between(from, to time.Time) (n int) {
	for _, at := range m {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// regained is the time from the moment to the first second in which it was done at least n times more.
func (m moments) regained(from time.Time, n float64) (time.Duration, bool) {
	for i, at := range m {
		if last := i + int(n); !at.Before(from) && last < len(m) && m[last].Sub(at) <= time.Second {
			return at.Sub(from), true
		}
	}
	return 0, false
}

// run does the job, and requires an answer to each request.
func (j *job) run(ctx context.Context, t *testing.T) *done {
	t.Helper()
	l, rec := limiter(t, j.settings), &recorder{base: newTransport(t, 0)}
	client := &http.Client{Transport: rec}
	d := &done{began: time.Now()}
	require.NoError(t, aimd.Each(ctx, l, j.numbers(), func(ctx context.Context, i int) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint("http://", j.address, "/", i), nil)
		if err != nil {
			return err
		}
		return exchange(client, req)
	}))
	d.took, d.Snapshot, d.sends = time.Since(d.began), l.Snapshot(), rec.sends
	requireIdle(t, l)
	return d
}

// numbers yields the numbers of the requests.
func (j *job) numbers() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < j.requests && (j.until.IsZero() || time.Now().Before(j.until)) && yield(i); i++ {
		}
	}
}

// exchange sends a request, and requires an answer that accepts it and belongs to it.
func exchange(c *http.Client, req *http.Request) error {
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := httplimit.Check(resp); err != nil {
		return err
	}
	got, err := io.ReadAll(resp.Body)
	if err == nil && string(got) != req.URL.Path {
		err = fmt.Errorf("answer to %s: %q", req.URL.Path, got)
	}
	return err
}

// recorder records what is sent.
type recorder struct {
	base http.RoundTripper

	mu    sync.Mutex
	sends []send
}

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	r.mu.Lock()
	n := len(r.sends)
	r.sends = append(r.sends, send{at: began})
	r.mu.Unlock()
	resp, err := r.base.RoundTrip(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sends[n].took = time.Since(began)
	if err == nil {
		r.sends[n].status = resp.StatusCode
	}
	return resp, err
}
