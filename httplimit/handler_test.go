package httplimit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// door is a controller that tells how every request in service ended.
type door struct {
	*admission.Controller
	t        *testing.T
	released chan admission.Event
}

// newDoor returns a controller. After the test all places must be free.
func newDoor(t *testing.T, l admission.Limit, c admission.Config) door {
	t.Helper()
	d := door{t: t, released: make(chan admission.Event, 100_000)}
	var err error
	c.Observer = func(e admission.Event) {
		if e.Outcome != 0 {
			d.released <- e
		}
	}
	d.Controller, err = admission.New(l, c)
	require.NoError(t, err)
	t.Cleanup(func() {
		s := d.Snapshot()
		assert.Zero(t, s.InFlight, "in service at the end")
		assert.Zero(t, s.Queued, "queued at the end")
	})
	return d
}

// single is a door with one place, and a queue that takes a minute.
func single(t *testing.T) door {
	return newDoor(t, admission.Fixed(1), admission.Config{QueueTime: time.Minute})
}

// ended waits until a request ended, and says how.
func (d door) ended(want window.Outcome) {
	d.t.Helper()
	select {
	case e := <-d.released:
		require.Equal(d.t, want, e.Outcome, "want %v, got %v", want, e.Outcome)
	case <-time.After(time.Minute):
		require.FailNow(d.t, "the place was not given back")
	}
}

// stands waits until so many are in service and in the queue.
func (d door) stands(inFlight, queued int) {
	d.t.Helper()
	late := time.After(time.Minute)
	for {
		s := d.Snapshot()
		if s.InFlight == inFlight && s.Queued == queued {
			return
		}
		select {
		default:
			runtime.Gosched()
		case <-late:
			require.FailNow(d.t, "did not get there", "want %d in service and %d queued, got %v", inFlight, queued, s)
		}
	}
}

func handler(t *testing.T, next http.Handler, d door, c ...httplimit.HandlerConfig) http.Handler {
	t.Helper()
	h, err := httplimit.NewHandler(next, d.Controller, append(c, httplimit.HandlerConfig{})[0])
	require.NoError(t, err)
	return h
}

// gate is a handler that tells of each request, and holds it until it is let go.
type gate struct {
	came chan *http.Request
	open chan struct{}
}

func newGate() gate { return gate{make(chan *http.Request, 100), make(chan struct{})} }

func (g gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.came <- r
	<-g.open
	_, _ = io.WriteString(w, "served")
}

// send sends a request with the tags, in a goroutine.
func send(ctx context.Context, s *httptest.Server, t tag.Tags) <-chan *http.Response {
	to := make(chan *http.Response, 1)
	go func() {
		defer close(to)
		req := get(ctx, s.URL)
		httplimit.SetTags(req.Header, t)
		resp, err := s.Client().Do(req)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			to <- resp
		}
	}()
	return to
}

func TestHandlerServesRefusesAndTells(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			d, g := newDoor(t, admission.Fixed(1), admission.Config{QueueBound: 1, QueueTime: time.Minute}), newGate()
			s := p.start(t, handler(t, g, d))
			first := send(t.Context(), s, tag.Tags{Client: "photos", Version: "2", Feature: "album", Attempt: 1})
			r := <-g.came
			assert.Equal(t, tag.Tags{Client: "photos", Version: "2", Feature: "album", Attempt: 1}, tag.FromContext(r.Context()))
			permit, ok := admission.FromContext(r.Context())
			require.True(t, ok)
			assert.Zero(t, permit.Waited())

			// "Prioritize interactive requests. Drop background requests" (Safe Client Behaviour).
			background := send(t.Context(), s, tag.Tags{Criticality: tag.SheddablePlus})
			d.stands(1, 1)
			interactive := send(t.Context(), s, tag.Tags{})
			resp := <-background
			require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
			after, ok := httplimit.RetryAfter(resp.Header, time.Now())
			require.True(t, ok)
			assert.InDelta(t, time.Second, after, float64(time.Second/2), "1 s at the mean")
			assert.Contains(t, []string{"1", "2"}, resp.Header.Get("Retry-After"))

			g.open <- struct{}{}
			require.Equal(t, http.StatusOK, (<-first).StatusCode)
			r = <-g.came
			permit, _ = admission.FromContext(r.Context())
			assert.Positive(t, permit.Waited())
			g.open <- struct{}{}
			require.Equal(t, http.StatusOK, (<-interactive).StatusCode)
			d.ended(window.Success)
			d.ended(window.Success)
			assert.EqualValues(t, 1, d.Snapshot().ByCriticality[tag.SheddablePlus].Displaced)
		})
	}
}

func TestAClientThatWentAwayGivesItsPlaceBack(t *testing.T) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) {
			d, g := single(t), newGate()
			s := p.start(t, handler(t, g, d))
			first := send(t.Context(), s, tag.Tags{})
			<-g.came
			ctx, cancel := context.WithCancel(t.Context())
			gone := send(ctx, s, tag.Tags{})
			d.stands(1, 1)
			cancel()
			require.Nil(t, <-gone)
			d.stands(1, 0)
			g.open <- struct{}{}
			require.NotNil(t, <-first)
			d.ended(window.Success)
			assert.EqualValues(t, 1, d.Snapshot().ByCriticality[tag.Critical].Vanished)
			assert.Empty(t, g.came)
		})
	}
}

// What the adaptive law hears.
func TestOutcomesOfAnswers(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	over, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	for _, c := range []struct {
		name   string
		inner  http.HandlerFunc
		config httplimit.HandlerConfig
		want   window.Outcome
	}{
		{"200", status(200), httplimit.HandlerConfig{}, window.Success},
		{"nothing written", func(http.ResponseWriter, *http.Request) {}, httplimit.HandlerConfig{}, window.Success},
		{"404", status(404), httplimit.HandlerConfig{}, window.Success},
		{"500", status(500), httplimit.HandlerConfig{}, window.Neutral},
		{"502", status(502), httplimit.HandlerConfig{}, window.Neutral},
		{"429", status(429), httplimit.HandlerConfig{}, window.Overload},
		{"503", status(503), httplimit.HandlerConfig{}, window.Overload},
		{"504", status(504), httplimit.HandlerConfig{}, window.Timeout},
		{"early hints", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(503) }, httplimit.HandlerConfig{}, window.Overload},
		{"the first status counts", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil); w.WriteHeader(503) }, httplimit.HandlerConfig{}, window.Success},
		{"nothing to copy, then an error", func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.Copy(w, broken{io.ErrUnexpectedEOF})
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
			w.WriteHeader(503)
		}, httplimit.HandlerConfig{}, window.Overload},
		{"slow", func(http.ResponseWriter, *http.Request) {
			for began := time.Now(); time.Since(began) < 2; { // nanoseconds, on real time
			}
		}, httplimit.HandlerConfig{Slow: 1}, window.Timeout},
		{"quick", status(200), httplimit.HandlerConfig{Slow: time.Hour}, window.Success},
		{"a quota's 429", status(429), httplimit.HandlerConfig{Outcome: func(int) window.Outcome { return window.Success }}, window.Success},
		{"no outcome", status(200), httplimit.HandlerConfig{Outcome: func(int) window.Outcome { return 9 }}, window.Neutral},
		{"the client went: 503", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, httplimit.HandlerConfig{}, window.Neutral},
		{"the client went: 504", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(504) }, httplimit.HandlerConfig{}, window.Neutral},
		{"the client went", func(http.ResponseWriter, *http.Request) {}, httplimit.HandlerConfig{}, window.Neutral},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := single(t)
			req := httptest.NewRequest(http.MethodGet, "/", nil)
			inner := c.inner
			if strings.HasPrefix(c.name, "the client went") {
				ctx, cancel := context.WithCancel(t.Context())
				req = req.WithContext(ctx)
				inner = func(w http.ResponseWriter, r *http.Request) { cancel(); c.inner(w, r) }
			}
			handler(t, inner, d, c.config).ServeHTTP(httptest.NewRecorder(), req)
			d.ended(c.want)
		})
	}
	t.Run("a deadline ran out", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := single(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			handler(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ctx.Done() }), d).
				ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx))
			d.ended(window.Timeout)
		})
	})
	t.Run("before it was admitted", func(t *testing.T) {
		d, w := single(t), httptest.NewRecorder()
		handler(t, http.NotFoundHandler(), d).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil).WithContext(over))
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.Empty(t, w.Header().Get("Retry-After"))
	})
}

func TestPanicsGiveThePlaceBackAndGoOn(t *testing.T) {
	d := single(t)
	serve := func(next http.HandlerFunc, c httplimit.HandlerConfig) {
		handler(t, next, d, c).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}
	for _, reason := range []any{http.ErrAbortHandler, "boom"} {
		assert.PanicsWithValue(t, reason, func() {
			serve(func(http.ResponseWriter, *http.Request) { panic(reason) }, httplimit.HandlerConfig{})
		})
		d.ended(window.Neutral)
	}
	assert.PanicsWithValue(t, "in a hook", func() {
		serve(http.NotFound, httplimit.HandlerConfig{Outcome: func(int) window.Outcome { panic("in a hook") }})
	})
	d.ended(window.Neutral)
}

func TestProbesPassBy(t *testing.T) {
	d := newDoor(t, admission.Fixed(1), admission.Config{QueueBound: -1})
	p, err := d.Admit(t.Context(), tag.Tags{})
	require.NoError(t, err)
	h := handler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, ok := admission.FromContext(r.Context())
		assert.False(t, ok)
		w.WriteHeader(http.StatusNoContent)
	}), d, httplimit.HandlerConfig{Bypass: func(r *http.Request) bool { return r.URL.Path == "/healthz" }})
	for path, want := range map[string]int{"/": http.StatusServiceUnavailable, "/healthz": http.StatusNoContent} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		assert.Equal(t, want, w.Code)
	}
	p.Done(window.Success)
	d.ended(window.Success)
}

// A TimeoutHandler around the Handler: the place is held until the work is done, and an adaptive limit
// hears of a timeout.
func TestATimeoutHandlerGoesAround(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, g := single(t), newGate()
		h := http.TimeoutHandler(handler(t, g, d), time.Second, "too slow")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.Equal(t, 1, d.Snapshot().InFlight)
		g.open <- struct{}{}
		d.ended(window.Timeout)
	})
}

func TestHandlerConfig(t *testing.T) {
	d := newDoor(t, admission.Fixed(1), admission.Config{QueueBound: -1})
	p, err := d.Admit(t.Context(), tag.Tags{})
	require.NoError(t, err)
	h := handler(t, http.NotFoundHandler(), d, httplimit.HandlerConfig{Status: http.StatusTooManyRequests, Tags: func(*http.Request) tag.Tags { return tag.Tags{Client: "known", Attempt: 4} }})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, "overloaded, try again later\n", w.Body.String())
	assert.EqualValues(t, 1, d.Snapshot().ByCriticality[tag.Critical].ShedRetries)

	w = httptest.NewRecorder()
	h = handler(t, http.NotFoundHandler(), d, httplimit.HandlerConfig{Refusal: func(w http.ResponseWriter, _ *http.Request, s *admission.Shed) {
		w.WriteHeader(529)
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]string{"reason": s.Reason}))
	}})
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	assert.Equal(t, 529, w.Code)
	assert.JSONEq(t, `{"reason":"full"}`, w.Body.String())
	assert.NotEmpty(t, w.Header().Get("Retry-After"))
	p.Done(window.Success)
	d.ended(window.Success)

	for want, o := range map[string]httplimit.HandlerConfig{
		"httplimit: Status: 500 is not allowed, want 503 or 429":                       {Status: 500},
		"httplimit: Slow: -1s is not allowed, want a positive duration, or 0 for none": {Slow: -time.Second},
		"httplimit: Status: 200 is not allowed, want 503 or 429":                       {Status: 200},
	} {
		_, err := httplimit.NewHandler(http.NotFoundHandler(), d.Controller, o)
		assert.EqualError(t, err, want)
	}
	_, err = httplimit.NewHandler(nil, d.Controller, httplimit.HandlerConfig{})
	assert.EqualError(t, err, "httplimit: handler: nil is not allowed")
	_, err = httplimit.NewHandler(http.NotFoundHandler(), nil, httplimit.HandlerConfig{})
	assert.EqualError(t, err, "httplimit: controller: nil is not allowed")
}

func ExampleNewHandler() {
	// 32 requests at a time; 32 more wait 100 ms at most, the critical ones first.
	c, err := admission.New(admission.Fixed(32), admission.Config{
		QueueBound: 32, QueueTime: 100 * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", tag.FromContext(r.Context()).Client)
	})
	h, err := httplimit.NewHandler(app, c, httplimit.HandlerConfig{Bypass: func(r *http.Request) bool { return r.URL.Path == "/healthz" }})
	if err != nil {
		panic(err)
	}
	// http.ListenAndServe(address, h), and a request comes:
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Aimd-Client", "photos")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	fmt.Println(w.Code, w.Body, c.Snapshot().Successes)
	// Output: 200 hello photos 1
}

// A handler that hands a request on to another with the same controller needs no second place: with one
// place it would wait for itself.
func TestHandlerWithinHandler(t *testing.T) {
	d := newDoor(t, admission.Fixed(1), admission.Config{QueueBound: -1})
	inner := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := admission.FromContext(r.Context())
		assert.True(t, ok)
		p.Done(window.Overload) // the one place can be given back early
		assert.Zero(t, d.Snapshot().InFlight)
		w.WriteHeader(http.StatusNoContent)
	})
	w := httptest.NewRecorder()
	handler(t, handler(t, inner, d), d).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	assert.Equal(t, http.StatusNoContent, w.Code)
	d.ended(window.Overload)
	assert.Empty(t, d.released, "once")
}
