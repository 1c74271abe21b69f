package pages

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// model is a service with a quota of requests and one of tokens, as a provider of language models has them. Both come
// back evenly, or both are whole at each full minute. It answers 0.5 to 2 s after it took a prompt, in the headers of
// OpenAI.
type model struct {
	mu                      sync.Mutex
	start, at               time.Time
	limit, requests, tokens float64
	served, full            float64 // tokens: in all, and up to the last full minute
	windows, quiet          bool
	read                    bool    // the client reads the usage of answers
	rate                    float64 // the client's Config.MaxAmountRate
	refusals                int
	random                  *rand.Rand
}

const requestsAMinute = 500

type costKey struct{}

// fill adds what has come back.
func (m *model) fill() {
	now := time.Now()
	if since := now.Sub(m.at).Minutes(); !m.windows {
		m.requests = min(requestsAMinute, m.requests+since*requestsAMinute)
		m.tokens = min(m.limit, m.tokens+since*m.limit)
	} else if now.Sub(m.start)/time.Minute != m.at.Sub(m.start)/time.Minute {
		m.requests, m.tokens, m.full = requestsAMinute, m.limit, m.served
	}
	m.at = now
}

func (m *model) RoundTrip(r *http.Request) (*http.Response, error) {
	cost := r.Context().Value(costKey{}).(float64)
	m.mu.Lock()
	m.fill()
	delay, status, body := 500*time.Millisecond+time.Duration(m.random.Int64N(1500))*time.Millisecond, 200, "{}"
	if m.tokens < cost || m.requests < 1 {
		m.refusals++
		status, delay = 429, 100*time.Millisecond
		body = `{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}`
	} else {
		m.tokens, m.requests, m.served = m.tokens-cost, m.requests-1, m.served+cost
		body = fmt.Sprintf(`{"usage":{"total_tokens":%d}}`, int(cost))
	}
	h := http.Header{"Content-Type": {"application/json"}}
	for name, q := range map[string]struct{ limit, left float64 }{
		"Requests": {requestsAMinute, m.requests}, "Tokens": {m.limit, m.tokens},
	} {
		if name == "Tokens" && m.quiet {
			continue
		}
		if lower := strings.ToLower(name); m.windows { // the IETF's draft
			reset := time.Minute - m.at.Sub(m.start)%time.Minute
			h.Add("Ratelimit", fmt.Sprintf("%q;r=%d;t=%d", lower, int(q.left), int(math.Ceil(reset.Seconds()))))
			h.Add("Ratelimit-Policy", fmt.Sprintf("%q;q=%d;qu=%q", lower, int(q.limit), lower))
			continue
		}
		reset := time.Duration((1 - q.left/q.limit) * float64(time.Minute))
		h.Set("X-Ratelimit-Limit-"+name, fmt.Sprint(int(q.limit)))
		h.Set("X-Ratelimit-Remaining-"+name, fmt.Sprint(int(q.left)))
		h.Set("X-Ratelimit-Reset-"+name, reset.Round(time.Millisecond).String())
	}
	m.mu.Unlock()
	time.Sleep(delay)
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// client starts the service, and returns a client of it that has a limiter.
func (m *model) client(t *testing.T, seed uint64) *http.Client {
	l, err := aimd.New(aimd.Config{MaxAmountRate: m.rate, Rand: rand.New(rand.NewPCG(seed, 2))})
	require.NoError(t, err)
	m.start, m.at, m.requests, m.tokens, m.random = time.Now(), time.Now(), requestsAMinute, m.limit, rand.New(rand.NewPCG(seed, 1))
	return (&httplimit.Transport{Base: m, Limiter: l, ReadUsage: m.read}).Client()
}

// prompts sends 2000 prompts of 100 to 8000 tokens at once, each of which says so many times its tokens. It returns the
// share of the tokens' quota that is used, and the refusals in an hour.
func prompts(t *testing.T, seed uint64, m *model, says float64) (share, refused float64) {
	synctest.Test(t, func(t *testing.T) {
		client := m.client(t, seed)
		sizes := rand.New(rand.NewPCG(seed, 3))
		var all sync.WaitGroup
		for range int(m.limit / 100) {
			n := float64(100 + sizes.IntN(7901))
			all.Go(func() {
				ctx := aimd.WithAmount(context.WithValue(t.Context(), costKey{}, n), says*n)
				for range 100 {
					req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://model.example/", nil)
					res, err := client.Do(req)
					if err == nil && res.StatusCode == 200 {
						_, err = io.Copy(io.Discard, res.Body)
						assert.NoError(t, err)
						res.Body.Close()
						return
					}
				}
				t.Error("a prompt is lost")
			})
		}
		all.Wait()
		took := time.Since(m.start)
		share = m.served / (m.limit * (1 + took.Minutes()))
		if m.windows {
			share = m.full / (m.limit * math.Floor(took.Minutes()))
		}
		refused = float64(m.refusals) / took.Hours()
	})
	return share, refused
}

// docs/quota.md, "Measured". A prompt that says its tokens is not sent before the rest covers it.
func TestPromptsOfManyTokens(t *testing.T) {
	for _, c := range []struct {
		name           string
		limit          float64
		windows, quiet bool
		share          float64
		most, least    float64 // refused in an hour: at most with the amounts, at least without
	}{
		{name: "bucket", limit: 200_000, share: 0.97, most: 5},
		{name: "window", limit: 200_000, windows: true, share: 0.97, most: 5, least: 30},
		{name: "small bucket", limit: 20_000, share: 0.97, most: 30, least: 150}, // those that go before the first report
		{name: "small window", limit: 20_000, windows: true, share: 0.8, most: 30, least: 60},
		{name: "reports of requests only", limit: 200_000, quiet: true, share: 0.97, most: 2900, least: 1500},
	} {
		t.Run(c.name, func(t *testing.T) {
			var share, refused [2]float64 // without the amounts, and with them: means
			for seed := range uint64(3) {
				for i, says := range []float64{0, 1} {
					used, refusals := prompts(t, seed, &model{limit: c.limit, windows: c.windows, quiet: c.quiet}, says)
					share[i], refused[i] = share[i]+used/3, refused[i]+refusals/3
				}
			}
			t.Logf("without and with amounts: %.3f of the quota, %.1f refused an hour", share, refused)
			assert.GreaterOrEqual(t, share[1], c.share)
			assert.LessOrEqual(t, refused[1], c.most)
			assert.GreaterOrEqual(t, refused[0], c.least)
		})
	}
}

// docs/quota.md, "Measured": 200 000 tokens a minute that are not reported, and MaxAmountRate. A prompt that says three
// times its tokens takes three times as long. Its answer's usage mends that, and serves prompts that say nothing.
func TestTheUsageOfAnswers(t *testing.T) {
	for _, c := range []struct {
		says            float64
		read            bool
		least, most     float64 // share of the quota
		fewest, refused float64 // in an hour
	}{
		{says: 3, least: 0.32, most: 0.34},
		{says: 3, read: true, least: 0.82, most: 1},
		{least: 0.97, most: 1, fewest: 1500, refused: 3600},
		{read: true, least: 0.94, most: 1, refused: 60},
	} {
		var share, refused float64
		for seed := range uint64(3) {
			used, refusals := prompts(t, seed, &model{limit: 200_000, quiet: true, rate: 200_000. / 60, read: c.read}, c.says)
			share, refused = share+used/3, refused+refusals/3
		}
		t.Logf("%+v: %.3f of the quota, %.1f refused an hour", c, share, refused)
		assert.GreaterOrEqual(t, share, c.least)
		assert.LessOrEqual(t, share, c.most)
		assert.GreaterOrEqual(t, refused, c.fewest)
		assert.LessOrEqual(t, refused, c.refused)
	}
}

// docs/quota.md: calls with deadlines, one a second. If the mean amount decided whether they can wait, calls that the
// rest covers would fail, and others would wait in vain: 77 of 600 were served.
func TestCallsThatCannotWaitForAQuota(t *testing.T) {
	served := atomic.NewInt64(0)
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			m := &model{limit: 20_000, windows: true}
			client := m.client(t, seed)
			sizes := rand.New(rand.NewPCG(seed, 3))
			var all sync.WaitGroup
			for range 600 {
				n := float64(100 + sizes.IntN(7901))
				all.Go(func() {
					ctx, cancel := context.WithTimeout(aimd.WithAmount(context.WithValue(t.Context(), costKey{}, n), n), 20*time.Second)
					defer cancel()
					req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://model.example/", nil)
					if res, err := client.Do(req); err == nil {
						res.Body.Close()
						served.Inc()
					}
				})
				time.Sleep(time.Second)
			}
			all.Wait()
		})
	}
	t.Logf("%d of 600", served.Load()/3)
	assert.GreaterOrEqual(t, served.Load()/3, int64(85))
}
