package e2e

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/proof/e2e/internal/program"
)

// sdks is the folder with the SDKs of JavaScript, at the versions of the lock file.
var sdks = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(binaries, "sdk")
	if err := os.CopyFS(dir, os.DirFS("testdata/sdk")); err != nil {
		return "", err
	}
	install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error")
	install.Dir = dir
	out, err := install.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("npm ci: %w: %s", err, out)
	}
	return dir, err
})

// foreignSDK is a program that sends requests of a kind by an SDK as it comes.
func foreignSDK(kind string) foreign {
	return func(ctx context.Context, t *testing.T, address string, atATime, requests int) (r result) {
		t.Helper()
		args := []string{kind, address, fmt.Sprint(atATime), fmt.Sprint(requests)}
		var cmd *exec.Cmd
		if strings.HasPrefix(kind, "boto3") { // Debian's Python has Debian's boto3
			cmd = exec.CommandContext(ctx, program.Path(t, "/usr/bin/python3", "python3-boto3"), append([]string{"testdata/sdk/s3.py"}, args...)...)
		} else {
			program.Path(t, "npm", "npm")
			dir, err := sdks()
			require.NoError(t, err)
			cmd = exec.CommandContext(ctx, program.Path(t, "node", "nodejs"), append([]string{filepath.Join(dir, "job.mjs")}, args...)...)
		}
		cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "NODE_NO_WARNINGS=1")
		out, err := cmd.Output()
		require.NoError(t, err)
		var all struct {
			result
			Reasons map[string]int
		}
		require.NoError(t, json.Unmarshal(out, &all))
		if len(all.Reasons) > 0 {
			t.Logf("%s to %s: %v", kind, address, all.Reasons)
		}
		return all.result
	}
}

// asItComes says how the program fares without the proxy, if the figures count.
func asItComes(ctx context.Context, t *testing.T, kind, address string, requests int) string {
	t.Helper()
	if !earnest() {
		return ""
	}
	r := foreignSDK(kind)(ctx, t, address, requests, requests)
	return fmt.Sprintf("; as it comes %d of %d lost, in %v", r.Lost, requests, r.took())
}

// model is a service in the dialects of OpenAI and Anthropic, which compresses what it says as it is asked to.
type model struct {
	delay time.Duration
	// slots is how many requests it takes at a time, 0: no bound. Otherwise burst requests go at once, and then one
	// each pace.
	slots int
	burst float64
	pace  time.Duration

	mu              sync.Mutex
	inside, refused int
	left            float64
	last            time.Time
}

func (m *model) enter() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	if m.slots > 0 && m.inside >= m.slots {
		m.refused++
		return false
	}
	if m.slots == 0 {
		if m.last.IsZero() {
			m.left, m.last = m.burst, now
		}
		m.left, m.last = min(m.burst, m.left+now.Sub(m.last).Seconds()/m.pace.Seconds()), now
		if m.left < 1 {
			m.refused++
			return false
		}
		m.left--
	}
	m.inside++
	return true
}

func (m *model) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inside--
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Stream   bool
		Messages []struct{ Content string }
	}
	err := json.NewDecoder(r.Body).Decode(&ask)
	_, _ = io.Copy(io.Discard, r.Body)
	var out io.Writer = w
	flush := func() { w.(http.Flusher).Flush() }
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		out, flush = z, func() { _ = z.Flush(); w.(http.Flusher).Flush() }
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case err != nil || len(ask.Messages) == 0:
		w.WriteHeader(http.StatusBadRequest)
		return
	case !m.enter():
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(out, `{"type": "error", "error": {"type": "rate_limit_error", "code": "rate_limit_exceeded", "message": "Too many requests."}}`)
		return
	}
	defer m.leave()
	text := "answer to " + ask.Messages[0].Content
	openai := strings.HasSuffix(r.URL.Path, "/chat/completions")
	if !ask.Stream {
		time.Sleep(m.delay)
		if openai {
			fmt.Fprintf(out, `{"id": "1", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": %q}, "finish_reason": "stop"}]}`, text)
		} else {
			fmt.Fprintf(out, `{"id": "1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": %q}], "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}`, text)
		}
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind, data string) {
		if !openai {
			fmt.Fprintf(out, "event: %s\n", kind)
		}
		fmt.Fprintf(out, "data: %s\n\n", data)
		flush()
	}
	words := strings.SplitAfter(text, " ")
	if !openai {
		event("message_start", `{"type": "message_start", "message": {"id": "1", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}`)
		event("content_block_start", `{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}`)
	}
	for _, word := range words {
		time.Sleep(m.delay / time.Duration(len(words)))
		if openai {
			event("", fmt.Sprintf(`{"id": "1", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": %q}}]}`, word))
		} else {
			event("content_block_delta", fmt.Sprintf(`{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": %q}}`, word))
		}
	}
	if openai {
		event("", "[DONE]")
	} else {
		event("content_block_stop", `{"type": "content_block_stop", "index": 0}`)
		event("message_delta", `{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}`)
		event("message_stop", `{"type": "message_stop"}`)
	}
}

func (m *model) serve(t *testing.T) (address string) {
	t.Helper()
	b := (&backend{serves: func(w http.ResponseWriter, r *http.Request, _ int) { m.ServeHTTP(w, r) }}).serve(t)
	return b.address
}

// The SDKs of OpenAI and Anthropic as they come, for a service that takes 8 requests at a time, and for one that takes
// one a second after a burst. Through the proxy nothing is lost, in the time that the limit allows.
func TestSDKsOfModels(t *testing.T) {
	const delay, slots = 300 * time.Millisecond, 8
	many, few := amount(200, 100), amount(200, 75)
	for _, c := range []struct {
		limit    string
		kinds    []string
		service  func() *model
		requests int
		optimum  time.Duration
		attempts float64
	}{
		{"8 slots", []string{"openai", "openai-stream", "anthropic", "anthropic-stream"},
			func() *model { return &model{delay: delay, slots: slots} }, many, delay * time.Duration(many) / slots, 1.10},
		{"60 a minute", []string{"openai", "anthropic-stream"},
			func() *model { return &model{delay: delay, burst: 60, pace: time.Second} }, few, time.Second * time.Duration(few-60), 4},
	} {
		for _, kind := range c.kinds {
			t.Run(kind+" "+c.limit, func(t *testing.T) {
				beside(t)
				attempt(t, func(t *testing.T) bool {
					ctx := begin(t)
					bare := asItComes(ctx, t, kind, c.service().serve(t), c.requests)
					g := startGuard(t, c.service().serve(t))
					got := foreignSDK(kind)(ctx, t, g.address, c.requests, c.requests)
					require.Zero(t, got.Lost)
					cost, most := cost{span: ratio(got.took(), c.optimum), attempts: g.each(t, c.requests)}, cost{span: amount(1.10, 10), attempts: c.attempts}
					figures.log(t, "%v%s", cost, bare)
					return cost.within(most.eased())
				})
			})
		}
	}
}

// The SDKs of S3 for JavaScript and Python, for a store that checks signatures and takes 16 requests at a time. The optimum
// is the time of a program that knows the slots, since much of it is the programs' own. With --host a program may sign for
// AWS itself.
func TestSDKsOfS3(t *testing.T) {
	const slots = 16
	for _, kind := range []string{"s3", "s3-stream", "s3-presigned", "s3-aws", "boto3", "boto3-aws"} {
		t.Run(kind, func(t *testing.T) {
			beside(t)
			requests := amount(500, 200)
			attempt(t, func(t *testing.T) bool {
				ctx := begin(t)
				optimum, bare := time.Duration(0), ""
				if earnest() && !strings.HasSuffix(kind, "-aws") {
					alone := startGateway(t, slots)
					steward(ctx, t, alone.address)
					optimum = foreignSDK(kind)(ctx, t, alone.address, slots, requests).took()
					bare = asItComes(ctx, t, kind, alone.address, requests)
				}
				store := startGateway(t, slots)
				steward(ctx, t, store.address)
				before := store.counts(t)
				g := startGuard(t, store.address, "--keep-host", "--host", "s3.us-east-1.amazonaws.com")
				got := foreignSDK(kind)(ctx, t, g.address, requests, requests)
				require.Zero(t, got.Lost)
				most := cost{span: 1.10, attempts: 1.10}.eased()
				if served := store.counts(t); optimum == 0 { // the programs' own time is not in it
					optimum, most.span = (served.Busy-before.Busy)/slots, 10
				}
				c := cost{span: ratio(got.took(), optimum), attempts: g.each(t, 2*requests)}
				figures.log(t, "%v%s", c, bare)
				return c.within(most)
			})
		})
	}
}
