package sdks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
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

// service is a server with quotas that its answers report.
type service struct {
	url           string
	mu            sync.Mutex
	quotas        []*quota
	took, refused int
}

// serve starts a service. report writes the headers; answer is the body of a success, refusal the status
// and body of a refusal.
func serve(t *testing.T, report func(http.Header, []*quota, bool, time.Time), answer string, status int, refusal string, quotas ...*quota) *service {
	s := &service{quotas: quotas}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		time.Sleep(time.Duration(20+rand.IntN(20)) * time.Millisecond)
		w.Header().Set("Content-Type", "application/json")
		s.mu.Lock()
		now, ok := time.Now(), true
		var costs []float64
		for _, q := range s.quotas {
			q.fill(now)
			costs = append(costs, q.cost())
			ok = ok && q.left >= costs[len(costs)-1]
		}
		if ok {
			s.took++
			for i, q := range s.quotas {
				q.left -= costs[i]
			}
		} else {
			s.refused++
		}
		report(w.Header(), s.quotas, ok, now)
		s.mu.Unlock()
		if !ok {
			w.WriteHeader(status)
			fmt.Fprint(w, refusal)
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL + "/"
	return s
}

func one() float64 { return 1 }

const githubLimit = 60

// githubWindow is short, as resets are in whole seconds.
var githubWindow = func() time.Duration {
	if earnest {
		return 10 * time.Second
	}
	return 5 * time.Second
}()

// github reports as docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api has it.
func github(t *testing.T) *service {
	return serve(t, func(h http.Header, all []*quota, _ bool, now time.Time) {
		q := all[0]
		h.Set("X-RateLimit-Limit", fmt.Sprint(q.limit))
		h.Set("X-RateLimit-Remaining", fmt.Sprint(math.Floor(q.left)))
		h.Set("X-RateLimit-Used", fmt.Sprint(q.limit-math.Floor(q.left)))
		h.Set("X-RateLimit-Reset", fmt.Sprint(int64(math.Ceil(float64(now.Add(q.reset(now)).UnixMilli())/1000))))
		h.Set("X-RateLimit-Resource", "core")
	}, `{"id":1,"name":"any"}`, http.StatusForbidden, `{"message":"API rate limit exceeded for user ID 1.","documentation_url":"https://docs.github.com/rest"}`,
		&quota{limit: githubLimit, window: githubWindow, cost: one})
}

// spent is what a completion costs in tokens.
func spent() float64 { return 100 + float64(rand.IntN(200)) }

// openAI reports as developers.openai.com/api/docs/guides/rate-limits has it.
func openAI(t *testing.T) *service {
	return serve(t, func(h http.Header, all []*quota, ok bool, now time.Time) {
		for i, name := range []string{"Requests", "Tokens"} {
			h.Set("X-RateLimit-Limit-"+name, fmt.Sprint(all[i].limit))
			h.Set("X-RateLimit-Remaining-"+name, fmt.Sprint(math.Floor(all[i].left)))
			h.Set("X-RateLimit-Reset-"+name, all[i].reset(now).Round(time.Millisecond).String())
		}
		if !ok {
			h.Set("Retry-After-Ms", "100")
		}
	}, `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`,
		http.StatusTooManyRequests, `{"error":{"message":"Rate limit reached for any on tokens per min","type":"tokens","code":"rate_limit_exceeded"}}`,
		&quota{limit: 50, cost: one}, &quota{limit: 12_000, cost: spent})
}

// anthropicService reports as docs.claude.com/en/api/rate-limits has it.
func anthropicService(t *testing.T) *service {
	return serve(t, func(h http.Header, all []*quota, ok bool, now time.Time) {
		for i, name := range []string{"Requests", "Input-Tokens"} {
			h.Set("Anthropic-RateLimit-"+name+"-Limit", fmt.Sprint(all[i].limit))
			h.Set("Anthropic-RateLimit-"+name+"-Remaining", fmt.Sprint(math.Floor(all[i].left)))
			h.Set("Anthropic-RateLimit-"+name+"-Reset", now.Add(all[i].reset(now)).UTC().Format(time.RFC3339))
		}
		if !ok {
			h.Set("Retry-After", "1")
		}
	}, `{"id":"1","type":"message","role":"assistant","model":"any","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`,
		http.StatusTooManyRequests, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit"}}`,
		&quota{limit: 50, cost: one}, &quota{limit: 12_000, cost: spent})
}
