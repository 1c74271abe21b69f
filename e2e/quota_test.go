package e2e

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	gogithub "github.com/google/go-github/v84/github"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// quota is one quota of a service: a bucket that refills at a rate, or a window that is whole again at
// its end.
type quota struct {
	limit  float64
	window time.Duration // 0: a bucket that refills in a second
	cost   func() float64

	left float64
	at   time.Time
}

func (q *quota) fill(now time.Time) {
	switch {
	case q.at.IsZero():
		q.left, q.at = q.limit, now
	case q.window == 0:
		q.left = min(q.limit, q.left+q.limit*now.Sub(q.at).Seconds())
		q.at = now
	case now.Sub(q.at) >= q.window:
		q.left, q.at = q.limit, q.at.Add(now.Sub(q.at).Truncate(q.window))
	}
}

// reset is the time until the quota is whole again.
func (q *quota) reset(now time.Time) time.Duration {
	if q.window == 0 {
		return time.Duration((q.limit - q.left) / q.limit * float64(time.Second))
	}
	return q.at.Add(q.window).Sub(now)
}

// metered is a service with quotas that its answers report.
type metered struct {
	quotas []*quota
	// report writes the headers. answer is the body of a success, status and refusal are a refusal.
	report  func(h http.Header, q *quota, name string, now time.Time)
	names   []string
	answer  string
	status  int
	refusal string
	// retryAfter is a refusal's header, if it is not empty.
	retryAfter [2]string

	url     string
	mu      sync.Mutex
	refused int
}

func (m *metered) serve(t *testing.T) *metered {
	s := httptest.NewServer(m)
	t.Cleanup(s.Close)
	m.url = s.URL + "/"
	return m
}

func (m *metered) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(time.Duration(20+rand.IntN(20)) * time.Millisecond)
	w.Header().Set("Content-Type", "application/json")
	if m.take(w.Header(), time.Now()) {
		fmt.Fprint(w, m.answer)
		return
	}
	if m.retryAfter[0] != "" {
		w.Header().Set(m.retryAfter[0], m.retryAfter[1])
	}
	w.WriteHeader(m.status)
	fmt.Fprint(w, m.refusal)
}

// take takes a request from all quotas, or reports false, and writes what is left.
func (m *metered) take(h http.Header, now time.Time) (ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ok = true
	var costs []float64
	for _, q := range m.quotas {
		q.fill(now)
		costs = append(costs, q.cost())
		ok = ok && q.left >= costs[len(costs)-1]
	}
	for i, q := range m.quotas {
		if ok {
			q.left -= costs[i]
		}
		m.report(h, q, m.names[i], now)
	}
	if !ok {
		m.refused++
	}
	return ok
}

func one() float64 { return 1 }

// spent is what a completion costs in tokens.
func spent() float64 { return 100 + float64(rand.IntN(200)) }

const githubLimit = 60

// githubWindow is short, as resets are in whole seconds.
var githubWindow = amount(10*time.Second, 5*time.Second)

// github reports as docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api has it.
func github() *metered {
	return &metered{
		quotas: []*quota{{limit: githubLimit, window: githubWindow, cost: one}}, names: []string{"core"},
		report: func(h http.Header, q *quota, name string, now time.Time) {
			h.Set("X-RateLimit-Limit", fmt.Sprint(q.limit))
			h.Set("X-RateLimit-Remaining", fmt.Sprint(math.Floor(q.left)))
			h.Set("X-RateLimit-Used", fmt.Sprint(q.limit-math.Floor(q.left)))
			h.Set("X-RateLimit-Reset", fmt.Sprint(int64(math.Ceil(float64(now.Add(q.reset(now)).UnixMilli())/1000))))
			h.Set("X-RateLimit-Resource", name)
		},
		answer: `{"id":1,"name":"any"}`, status: http.StatusForbidden,
		refusal: `{"message":"API rate limit exceeded for user ID 1.","documentation_url":"https://docs.github.com/rest"}`,
	}
}

// openAI reports as developers.openai.com/api/docs/guides/rate-limits has it.
func openAI() *metered {
	return &metered{
		quotas: []*quota{{limit: 50, cost: one}, {limit: 12_000, cost: spent}}, names: []string{"Requests", "Tokens"},
		report: func(h http.Header, q *quota, name string, now time.Time) {
			h.Set("X-RateLimit-Limit-"+name, fmt.Sprint(q.limit))
			h.Set("X-RateLimit-Remaining-"+name, fmt.Sprint(math.Floor(q.left)))
			h.Set("X-RateLimit-Reset-"+name, q.reset(now).Round(time.Millisecond).String())
		},
		answer: `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`,
		status: http.StatusTooManyRequests, retryAfter: [2]string{"Retry-After-Ms", "100"},
		refusal: `{"error":{"message":"Rate limit reached for any on tokens per min","type":"tokens","code":"rate_limit_exceeded"}}`,
	}
}

// anthropicService reports as docs.claude.com/en/api/rate-limits has it.
func anthropicService() *metered {
	return &metered{
		quotas: []*quota{{limit: 50, cost: one}, {limit: 12_000, cost: spent}}, names: []string{"Requests", "Input-Tokens"},
		report: func(h http.Header, q *quota, name string, now time.Time) {
			h.Set("Anthropic-RateLimit-"+name+"-Limit", fmt.Sprint(q.limit))
			h.Set("Anthropic-RateLimit-"+name+"-Remaining", fmt.Sprint(math.Floor(q.left)))
			h.Set("Anthropic-RateLimit-"+name+"-Reset", now.Add(q.reset(now)).UTC().Format(time.RFC3339))
		},
		answer: `{"id":"1","type":"message","role":"assistant","model":"any","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
		status: http.StatusTooManyRequests, retryAfter: [2]string{"Retry-After", "1"},
		refusal: `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}`,
	}
}

// quotaSDK is an SDK: call makes a call with the HTTP client at the address, and does not try again.
type quotaSDK struct {
	service func() *metered
	calls   int
	// least is the least possible time, most what a limiter needs at most of it.
	least time.Duration
	most  float64
	call  func(client *http.Client, url string) func(context.Context) error
}

var prompt = openai.ChatCompletionNewParams{Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")}}

var question = anthropic.MessageNewParams{
	Model: "any", MaxTokens: 10, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
}

var quotaSDKs = map[string]quotaSDK{
	"go-github": {github, 150, 2 * githubWindow, 1.05, func(client *http.Client, base string) func(context.Context) error {
		c := gogithub.NewClient(client)
		c.DisableRateLimitCheck = true // the limiter waits
		c.BaseURL, _ = url.Parse(base)
		return func(ctx context.Context) error {
			_, _, err := c.Repositories.Get(ctx, "any", "any")
			return err
		}
	}},
	"net/http": {github, 150, 2 * githubWindow, 1.05, func(client *http.Client, url string) func(context.Context) error {
		return func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			return httplimit.Check(resp)
		}
	}},
	"openai-go": {openAI, 400, 7 * time.Second, 1.25, func(client *http.Client, url string) func(context.Context) error {
		c := openai.NewClient(option.WithAPIKey("key"), option.WithBaseURL(url), option.WithHTTPClient(client), option.WithMaxRetries(0))
		return func(ctx context.Context) error {
			_, err := c.Chat.Completions.New(ctx, prompt)
			return err
		}
	}},
	"anthropic-sdk-go": {anthropicService, 400, 7 * time.Second, 1.25, func(client *http.Client, url string) func(context.Context) error {
		c := anthropic.NewClient(anthropicoption.WithAPIKey("key"), anthropicoption.WithBaseURL(url), anthropicoption.WithHTTPClient(client), anthropicoption.WithMaxRetries(0))
		return func(ctx context.Context) error {
			_, err := c.Messages.New(ctx, question)
			return err
		}
	}},
}

// An SDK through a limiter that reads the service's quota loses no call, and hardly a call is refused.
func TestSDKsWithinTheirQuota(t *testing.T) {
	beside(t)
	for name, s := range quotaSDKs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attempt(t, func(t *testing.T) bool { // a busy machine misses a window
				l, at := limiter(t, aimd.Config{}), s.service().serve(t)
				transport := newTransport(t, 0)
				call := s.call(&http.Client{Transport: httplimit.New(transport, l)}, at.url)
				start := time.Now()
				together(s.calls, s.calls, func(int) { assert.NoError(t, l.Do(t.Context(), call)) })
				took := time.Since(start)
				figures.log(t, "%d calls, %d refused, %.2f s", s.calls, at.refused, took.Seconds())
				return at.refused <= amount(5, s.calls/10) && took.Seconds() <= amount(1.0, noise)*s.most*s.least.Seconds()
			})
		})
	}
}
