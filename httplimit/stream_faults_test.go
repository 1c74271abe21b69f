package httplimit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
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
		inTime(t, name, func(t *testing.T) {
			lim := attempttest.Limiter(t, aimd.Config{})
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
	}
}

// A batch of which the service refuses the items: Elasticsearch's bulk (elastic/logstash#1631, vectordotdev/vector#11359).
// The program sends those again. 1000 bulks against 8 slots were asked for 305 000 times, without a cut.

// index takes 8 bulks at a time, and refuses each item of another.
type index struct{ busy, asked atomic.Int32 }

func (x *index) RoundTrip(r *http.Request) (*http.Response, error) {
	n, _ := strconv.Atoi(r.URL.Query().Get("items"))
	x.asked.Add(1)
	full, item := x.busy.Add(1) > 8, `{"index":{"status":201}}`
	if full {
		x.busy.Add(-1)
		item = `{"index":{"status":429,"error":{"type":"es_rejected_execution_exception","reason":"rejected execution"}}}`
		time.Sleep(20 * time.Millisecond)
	} else {
		time.Sleep(100 * time.Millisecond)
		x.busy.Add(-1)
	}
	body := fmt.Sprintf(`{"took":30,"errors":%v,"items":[%s]}`, full, strings.TrimSuffix(strings.Repeat(item+",", n), ","))
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json; charset=UTF-8"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), ProtoMajor: 1, Request: r}, nil
}

func TestABatchWhoseItemsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := attempttest.Limiter(t, aimd.Config{})
		service := new(index)
		client := (&httplimit.Transport{Base: service, Limiter: lim}).Client()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var done atomic.Int32
		var all sync.WaitGroup
		for range 200 { // 2.5 s
			all.Go(func() {
				for left := 10; left > 0 && ctx.Err() == nil; {
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://index.example/_bulk?items="+strconv.Itoa(left), strings.NewReader("{}\n"))
					if !assert.NoError(t, err) {
						return
					}
					resp, err := client.Do(req)
					if err != nil {
						return
					}
					var document struct {
						Items []struct {
							Index struct {
								Status int `json:"status"`
							} `json:"index"`
						} `json:"items"`
					}
					err = json.NewDecoder(resp.Body).Decode(&document)
					resp.Body.Close()
					if !assert.NoError(t, err) {
						return
					}
					left = 0
					for _, item := range document.Items {
						if item.Index.Status == http.StatusTooManyRequests {
							left++
						}
					}
					if left == 0 {
						done.Add(1)
					}
				}
			})
		}
		all.Wait()
		s := lim.Snapshot()
		assert.EqualValues(t, 200, done.Load())
		assert.LessOrEqual(t, service.asked.Load(), int32(260), "1.3 times the best")
		assert.NotZero(t, s.Cuts)
		_ = lim.Close()
	})
}

// A PUT that writes at an offset was sent again after an end that leaves open whether the part was taken
// (OneDrive/onedrive-api-docs#64, iterate-ch/cyberduck#18393): 416 for its own fragment, or a block that is there twice.
// taker takes the part that comes first, and does not say so: it answers with a status, or breaks off (0).
type taker struct {
	says, then int
	sent       int
}

func (s *taker) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	time.Sleep(50 * time.Millisecond)
	status := s.says
	if s.sent++; s.sent > 1 {
		status = s.then
	}
	if status == 0 {
		return nil, syscall.ECONNRESET
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, ProtoMajor: 1, Request: r}, nil
}

func TestAPartAtAnOffsetIsSentOnce(t *testing.T) {
	for name, c := range map[string]struct {
		header, value string
		says, then    int
	}{
		"a fragment, 503":                  {"Content-Range", "bytes 0-9/100", 503, 416},
		"a fragment, no answer":            {"Content-Range", "bytes 0-9/100", 0, 416},
		"a block at a position, no answer": {"X-Ms-Blob-Condition-Appendpos", "0", 0, 412},
		"an offset of S3, 503":             {"X-Amz-Write-Offset-Bytes", "0", 503, 400},
		"an append, no answer":             {"", "", 0, 412},
	} {
		inTime(t, name, func(t *testing.T) {
			lim := attempttest.Limiter(t, aimd.Config{})
			service := &taker{says: c.says, then: c.then}
			client := (&httplimit.Transport{Base: service, Limiter: lim}).Client()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://store.example/upload/1", strings.NewReader("0123456789"))
			require.NoError(t, err)
			if c.header == "" {
				req.URL.RawQuery = "comp=appendblock"
			} else {
				req.Header.Set(c.header, c.value)
			}
			resp, err := client.Do(req)
			if c.says == 0 {
				assert.ErrorIs(t, err, syscall.ECONNRESET)
			} else if assert.NoError(t, err) {
				assert.Equal(t, c.says, resp.StatusCode)
			}
			if resp != nil {
				resp.Body.Close()
			}
			assert.Equal(t, 1, service.sent)
			_ = lim.Close()
		})
	}
}

// slotted is a service with slots: an answer takes 100 ms, a refusal 5 ms.
func slotted(slots int32, refused *atomic.Int32) base {
	busy := new(atomic.Int32)
	return func(req *http.Request) (*http.Response, error) {
		defer busy.Dec()
		if busy.Inc() > slots {
			time.Sleep(5 * time.Millisecond)
			refused.Inc()
			return answers(http.StatusServiceUnavailable, nil, text("busy"))(req)
		}
		time.Sleep(100 * time.Millisecond)
		return answers(http.StatusOK, nil, text("done"))(req)
	}
}

// Within Do or Each of the same limiter a client that tries again told the window of no refusal: 991 to 1354 of 1000 calls
// were refused, in 1.6 to 1.8 times the best time. Now at most 169 in 1.5, and with a client that does not, 75 in 1.5.
func TestARefusalWithinASlotIsHeard(t *testing.T) {
	const calls = 1000
	items := slices.Values(make([]int, calls))
	for name, run := range map[string]func(*aimd.Limiter, func(context.Context) error) error{
		"Do": func(l *aimd.Limiter, fn func(context.Context) error) error {
			var all sync.WaitGroup
			failed := make(chan error, calls)
			for range calls {
				all.Go(func() { failed <- l.Do(context.Background(), fn) })
			}
			all.Wait()
			close(failed)
			var errs []error
			for err := range failed {
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
		"Each": func(l *aimd.Limiter, fn func(context.Context) error) error {
			return aimd.Each(context.Background(), l, items, func(ctx context.Context, _ int) error { return fn(ctx) })
		},
	} {
		for _, slots := range []int32{10, 50} {
			synctest.Test(t, func(t *testing.T) {
				l := attempttest.Limiter(t, aimd.Config{})
				var refused, done atomic.Int32
				client := clientOn(slotted(slots, &refused), l)
				require.NoError(t, run(l, func(ctx context.Context) error {
					resp, err := client.Do(get(ctx, anyURL))
					if err != nil {
						return err
					}
					done.Inc()
					defer resp.Body.Close()
					return httplimit.Check(resp)
				}))
				require.EqualValues(t, calls, done.Load(), "no function runs twice")
				require.LessOrEqual(t, refused.Load(), int32(300), "%s, %d slots", name, slots)
				s := l.Snapshot()
				require.EqualValues(t, refused.Load(), s.Overloads, "the window hears of each")
				require.Zero(t, s.InFlight)
				require.Zero(t, s.Late)
			})
		}
	}
}

// Several requests under one slot, and one that outlives its function: no slot stays taken, and nobody waits for a second.
func TestManyRequestsWithinASlotLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := narrow(t, aimd.Config{})
		var refused atomic.Int32
		client := clientOn(slotted(1, &refused), l)
		var all sync.WaitGroup
		one := func(ctx context.Context) {
			if resp, err := client.Do(get(ctx, anyURL)); assert.NoError(t, err) {
				assert.Equal(t, http.StatusOK, resp.StatusCode)
				assert.NoError(t, resp.Body.Close())
			}
		}
		for range 20 {
			require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
				for range 3 {
					all.Go(func() { one(ctx) })
				}
				one(ctx)
				return nil
			}))
		}
		all.Wait()
		require.NotZero(t, refused.Load())
		attempttest.Idle(t, l)
	})
}
