package sdks

import (
	"context"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	gogithub "github.com/google/go-github/v84/github"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
	"golang.org/x/time/rate"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// sdk is an SDK: call makes a call with the HTTP client at the address, and tries again by itself if it
// may.
type sdk struct {
	service func(*testing.T) *service
	calls   int
	// most is the time that a limiter needs at most, of the least possible.
	least time.Duration
	most  float64
	limit float64 // what x/time/rate is set to, a second
	call  func(client *http.Client, url string, retries bool) func(context.Context) error
}

// earnest: the figures count, see package e2e.
var earnest = os.Getenv("E2E_RUNS") != ""

var prompt = openai.ChatCompletionNewParams{Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")}}

var question = anthropic.MessageNewParams{
	Model: "any", MaxTokens: 10, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
}

var sdks = map[string]sdk{
	"go-github": {github, 150, 2 * githubWindow, 1.05, githubLimit / githubWindow.Seconds(), func(client *http.Client, url string, _ bool) func(context.Context) error {
		c := gogithub.NewClient(client)
		c.DisableRateLimitCheck = client != http.DefaultClient // the limiter waits
		base, err := c.BaseURL.Parse(url)
		c.BaseURL = base
		return func(ctx context.Context) error {
			if err != nil {
				return err
			}
			_, _, err := c.Repositories.Get(ctx, "any", "any")
			return err
		}
	}},
	"net/http": {github, 150, 2 * githubWindow, 1.05, githubLimit / githubWindow.Seconds(), func(client *http.Client, url string, _ bool) func(context.Context) error {
		return func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return err
			}
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			return httplimit.Check(resp)
		}
	}},
	"openai-go": {openAI, 400, 7 * time.Second, 1.25, 50, func(client *http.Client, url string, retries bool) func(context.Context) error {
		c := openai.NewClient(option.WithAPIKey("key"), option.WithBaseURL(url), option.WithHTTPClient(client))
		return func(ctx context.Context) error {
			_, err := c.Chat.Completions.New(ctx, prompt, option.WithMaxRetries(most(retries)))
			return err
		}
	}},
	"anthropic-sdk-go": {anthropicService, 400, 7 * time.Second, 1.25, 50, func(client *http.Client, url string, retries bool) func(context.Context) error {
		c := anthropic.NewClient(anthropicoption.WithAPIKey("key"), anthropicoption.WithBaseURL(url), anthropicoption.WithHTTPClient(client))
		return func(ctx context.Context) error {
			_, err := c.Messages.New(ctx, question, anthropicoption.WithMaxRetries(most(retries)))
			return err
		}
	}},
}

// most is the SDK's own default of retries, or none.
func most(retries bool) int {
	if retries {
		return 2
	}
	return 0
}

// result is what a run of calls came to.
type result struct {
	lost, refused int
	took          time.Duration
}

// together makes the calls with so many workers.
func (s sdk) together(t *testing.T, call func(context.Context) error, at *service) result {
	var lost atomic.Int64
	next := make(chan struct{}, s.calls)
	for range s.calls {
		next <- struct{}{}
	}
	close(next)
	var workers sync.WaitGroup
	start := time.Now()
	for range s.calls {
		workers.Go(func() {
			for range next {
				if call(t.Context()) != nil {
					lost.Inc()
				}
			}
		})
	}
	workers.Wait()
	return result{int(lost.Load()), at.refused, time.Since(start)}
}

// An SDK through a limiter that reads the service's quota loses no call, and hardly a call is refused.
// Beside it stand the same limiter without the quota, the SDK alone, and x/time/rate set to the rate that
// the service allows.
func TestSDKsWithinTheirQuota(t *testing.T) {
	for name, s := range sdks {
		limited := func(t *testing.T, opts ...httplimit.Option) result {
			lim, err := aimd.New()
			require.NoError(t, err)
			at := s.service(t)
			call := s.call(&http.Client{Transport: httplimit.New(nil, lim, opts...)}, at.url, false)
			return s.together(t, func(ctx context.Context) error { return lim.Do(ctx, call) }, at)
		}
		t.Run(name+"/ours", func(t *testing.T) {
			t.Parallel()
			refused, most, tries := 5, s.most, 1
			if !earnest { // a busy machine misses a window
				refused, most, tries = s.calls/10, 2*s.most, 3
			}
			for range tries {
				got := limited(t)
				t.Logf("%s: %d of %d lost, %d refused, %.2f s", name, got.lost, s.calls, got.refused, got.took.Seconds())
				require.Zero(t, got.lost)
				if got.refused <= refused && got.took.Seconds() <= most*s.least.Seconds() {
					return
				}
			}
			t.Errorf("wanted: %d refused, %.2f s", refused, most*s.least.Seconds())
		})
		t.Run(name+"/without quota", func(t *testing.T) {
			t.Parallel()
			got := limited(t, httplimit.WithoutQuota())
			t.Logf("%s without quota: %d of %d lost, %d refused, %.2f s", name, got.lost, s.calls, got.refused, got.took.Seconds())
			assert.Zero(t, got.lost)
		})
		t.Run(name+"/alone", func(t *testing.T) {
			t.Parallel()
			at := s.service(t)
			got := s.together(t, s.call(http.DefaultClient, at.url, true), at)
			t.Logf("%s alone: %d of %d lost, %d refused, %.2f s", name, got.lost, s.calls, got.refused, got.took.Seconds())
			assert.Equal(t, s.calls, got.lost+at.took)
		})
		t.Run(name+"/rate", func(t *testing.T) {
			t.Parallel()
			at, l := s.service(t), rate.NewLimiter(rate.Limit(s.limit), 1)
			call := s.call(http.DefaultClient, at.url, true)
			got := s.together(t, func(ctx context.Context) error {
				if err := l.Wait(ctx); err != nil {
					return err
				}
				return call(ctx)
			}, at)
			t.Logf("%s at a rate: %d of %d lost, %d refused, %.2f s", name, got.lost, s.calls, got.refused, got.took.Seconds())
			assert.Equal(t, s.calls, got.lost+at.took)
		})
	}
}
