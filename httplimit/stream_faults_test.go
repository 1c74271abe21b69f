package httplimit_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// A refusal within a stream: the first event says overloaded_error (unslothai/unsloth#10811, envoyproxy/ai-gateway#2698).
// 8 of 200 were whole, and the window grew by the refusals from 20 to 148.

// tongue writes 8 streams at a time, and refuses others within the stream.
type tongue struct {
	first bool // the error is the first event

	mu                   sync.Mutex
	busy, asked, refused int
}

func (s *tongue) RoundTrip(r *http.Request) (*http.Response, error) {
	const refusal = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
	const begin = "event: message_start\ndata: {\"type\":\"message_start\"}\n\n"
	s.mu.Lock()
	s.asked++
	full := s.busy == 8
	if full {
		s.refused++
	} else {
		s.busy++
	}
	s.mu.Unlock()
	body := begin + "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	if full {
		time.Sleep(20 * time.Millisecond)
		if body = refusal; !s.first {
			body = begin + refusal
		}
	} else {
		time.Sleep(200 * time.Millisecond)
		s.mu.Lock()
		s.busy--
		s.mu.Unlock()
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1, ProtoMajor: 1, Request: r}, nil
}

func TestAStreamRefusedByAnEvent(t *testing.T) {
	for name, first := range map[string]bool{"the first": true, "a later one": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lim, err := aimd.New(aimd.Config{})
				require.NoError(t, err)
				service := &tongue{first: first}
				client := (&httplimit.Transport{Base: service, Limiter: lim}).Client()
				var mu sync.Mutex
				var all sync.WaitGroup
				whole := 0
				for range 200 {
					all.Go(func() {
						resp, err := client.Post("http://api.example/v1/messages", "application/json", strings.NewReader("{}"))
						if err != nil {
							return
						}
						defer resp.Body.Close()
						text, _ := io.ReadAll(resp.Body)
						mu.Lock()
						defer mu.Unlock()
						if strings.Contains(string(text), "message_stop") {
							whole++
						}
					})
				}
				all.Wait()
				s := lim.Snapshot()
				if first {
					assert.Equal(t, 200, whole)
				}
				assert.NotZero(t, s.Cuts)
				assert.Less(t, s.Cwnd, 40.0)
				_ = lim.Close()
			})
		})
	}
}
