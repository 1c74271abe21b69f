package operations

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// model is a server of models: an answer begins at once, is a stream of a token a second, and is work until its end.
type model struct {
	slots, long int
	busy, asked atomic.Int64
}

func (m *model) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, ProtoMajor: 1, ContentLength: -1}
	time.Sleep(50 * time.Millisecond)
	if m.asked.Add(1); m.busy.Add(1) > int64(m.slots) {
		m.busy.Add(-1)
		resp.StatusCode, resp.Body, resp.ContentLength = http.StatusTooManyRequests, http.NoBody, 0
		return resp, nil
	}
	resp.Body = &tokens{m: m, left: m.long}
	return resp, nil
}

type tokens struct {
	m    *model
	left int
}

func (b *tokens) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	b.left--
	time.Sleep(time.Second)
	return copy(p, "token "), nil
}

func (b *tokens) Close() error { b.m.busy.Add(-1); return nil }

// Streams of models are open answers that are work: to send one more now and then may cost nothing. 80 streams on 8 slots.
func TestModelsAreNoOpenAnswers(t *testing.T) {
	for _, c := range []struct {
		long, workers int
		before        time.Duration // the time without the rules for answers that stay open
	}{
		{5, 64, 56 * time.Second}, {30, 64, 339 * time.Second}, {120, 64, 1355 * time.Second}, {300, 64, 3210 * time.Second},
		{30, 16, 301 * time.Second}, {120, 16, 1200 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, err := aimd.New(aimd.Config{})
			require.NoError(t, err)
			defer l.Close()
			m := &model{slots: 8, long: c.long}
			// In Do, since a client without a deadline gives up a call that is still refused after 15 minutes.
			client := &http.Client{Transport: &httplimit.Transport{Base: m, Limiter: l}}
			ask := func(ctx context.Context) error {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://model.example/", nil)
				if err != nil {
					return err
				}
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				if err := httplimit.Check(resp); err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, resp.Body)
				return err
			}
			work := make(chan int, 80)
			for i := range cap(work) {
				work <- i
			}
			close(work)
			start, all := time.Now(), sync.WaitGroup{}
			for range c.workers {
				all.Go(func() {
					for range work {
						assert.NoError(t, l.Do(t.Context(), ask))
					}
				})
			}
			all.Wait()
			took := time.Since(start)
			t.Logf("%d s, %d workers: %v, %d asked", c.long, c.workers, took, m.asked.Load())
			assert.Less(t, took.Seconds(), 1.2*c.before.Seconds(), "%d s, %d workers", c.long, c.workers)
		})
	}
}
