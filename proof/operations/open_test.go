package operations

import (
	"context"
	"io"
	"net/http"
	"slices"
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
// The trials cost nothing. 16 workers take 12% more at 30 and 120 s, one round trip once: the first eight streams end together,
// and the law spreads the next eight over a round trip, until it has seen that early ones are not refused. It is 306 s and
// 1203 s if those that are late follow at once.
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
			work := make(chan int, 80)
			for i := range cap(work) {
				work <- i
			}
			close(work)
			start, all := time.Now(), sync.WaitGroup{}
			for range c.workers {
				all.Go(func() {
					for range work {
						assert.NoError(t, ask(t.Context(), l, m))
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

// banning is a server of models that bans: three refused in ten minutes, and all is refused for ten minutes.
type banning struct {
	model
	mu      sync.Mutex
	until   time.Time
	refused []time.Time
	bans    int
}

func (b *banning) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	banned := time.Now().Before(b.until)
	b.mu.Unlock()
	if banned {
		time.Sleep(50 * time.Millisecond)
		return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{}, Request: r, ProtoMajor: 1, Body: http.NoBody}, nil
	}
	resp, err := b.model.RoundTrip(r)
	if resp.StatusCode == http.StatusTooManyRequests {
		b.mu.Lock()
		defer b.mu.Unlock()
		now := time.Now()
		b.refused = append(slices.DeleteFunc(b.refused, func(at time.Time) bool { return now.Sub(at) > 10*time.Minute }), now)
		if len(b.refused) >= 3 && !now.Before(b.until) {
			b.until, b.refused = now.Add(10*time.Minute), nil
			b.bans++
		}
	}
	return resp, err
}

// 30 callers of streams of five minutes at 20 places: 480 streams fit into two hours. Each ban costs ten minutes, and five more
// until the places end in turn. The first doubling brings one. After it the window is past the places two round trips later. As
// long as the allowance served refusals there, they were three in a round trip, and it was 316 streams, and five bans.
func TestStreamsBesideBans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := aimd.New(aimd.Config{})
		require.NoError(t, err)
		defer l.Close()
		b := &banning{model: model{slots: 20, long: 300}}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		var all sync.WaitGroup
		var streams atomic.Int64
		for range 30 {
			all.Go(func() {
				for ctx.Err() == nil {
					if ask(ctx, l, b) == nil {
						streams.Add(1)
					}
				}
			})
		}
		all.Wait()
		t.Logf("%d streams, %d bans, %d asked", streams.Load(), b.bans, b.asked.Load())
		assert.GreaterOrEqual(t, streams.Load(), int64(430))
		assert.LessOrEqual(t, b.bans, 2)
	})
}

// ask has a stream in Do, since a client without a deadline gives up a call that is still refused after 15 minutes.
func ask(ctx context.Context, l *aimd.Limiter, base http.RoundTripper) error {
	client := &http.Client{Transport: &httplimit.Transport{Base: base, Limiter: l}}
	return l.Do(ctx, func(ctx context.Context) error {
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
	})
}
