package admission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/answer"
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

func handler(t *testing.T, next http.Handler, d door, c ...admission.HandlerConfig) http.Handler {
	t.Helper()
	h, err := admission.NewHandler(next, d.Controller, append(c, admission.HandlerConfig{})[0])
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
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		if err != nil {
			return
		}
		tag.SetHeader(req.Header, t)
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
			place, ok := admission.FromContext(r.Context())
			require.True(t, ok)
			assert.Zero(t, place.Waited())

			// "Prioritize interactive requests. Drop background requests" (Safe Client Behaviour).
			background := send(t.Context(), s, tag.Tags{Criticality: tag.SheddablePlus})
			d.stands(1, 1)
			ctx, cancel := context.WithCancel(t.Context())
			interactive := send(ctx, s, tag.Tags{})
			resp := <-background
			require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
			after, ok := answer.RetryAfter(resp.Header, time.Now())
			require.True(t, ok)
			assert.InDelta(t, time.Second, after, float64(time.Second/2), "1 s at the mean")
			assert.Contains(t, []string{"1", "2"}, resp.Header.Get("Retry-After"))

			d.stands(1, 1)
			cancel() // a client that goes away leaves the queue
			require.Nil(t, <-interactive)
			d.stands(1, 0)
			last := send(t.Context(), s, tag.Tags{})
			d.stands(1, 1)
			g.open <- struct{}{}
			require.Equal(t, http.StatusOK, (<-first).StatusCode)
			place, _ = admission.FromContext((<-g.came).Context())
			assert.Positive(t, place.Waited())
			g.open <- struct{}{}
			require.Equal(t, http.StatusOK, (<-last).StatusCode)
			d.ended(window.Success)
			d.ended(window.Success)
			assert.EqualValues(t, 1, d.Snapshot().ByCriticality[tag.SheddablePlus].Displaced)
			assert.EqualValues(t, 1, d.Snapshot().ByCriticality[tag.Critical].Vanished)
		})
	}
}

// What the adaptive law hears.
func TestOutcomesOfAnswers(t *testing.T) {
	type config = admission.HandlerConfig
	status := func(codes ...int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for _, code := range codes {
				w.WriteHeader(code)
			}
		}
	}
	takes := func(d time.Duration) http.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) { time.Sleep(d) }
	}
	gone := func(then http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			r.Context().Value(leaveKey{}).(context.CancelFunc)()
			then(w, r)
		}
	}
	for name, c := range map[string]struct {
		inner  http.HandlerFunc
		config config
		want   window.Outcome
	}{
		"200":                     {status(200), config{}, window.Success},
		"nothing written":         {status(), config{}, window.Success},
		"404":                     {status(404), config{}, window.Success},
		"500":                     {status(500), config{}, window.Neutral},
		"429":                     {status(429), config{}, window.Overload},
		"503":                     {status(503), config{}, window.Overload},
		"504":                     {status(504), config{}, window.Timeout},
		"early hints":             {status(103, 503), config{}, window.Overload},
		"the first status counts": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil); w.WriteHeader(503) }, config{}, window.Success},
		"slow":                    {takes(time.Second + 1), config{Slow: time.Second}, window.Timeout},
		"quick":                   {takes(time.Second), config{Slow: time.Second}, window.Success},
		"a quota's 429":           {status(429), config{Outcome: func(int) window.Outcome { return window.Success }}, window.Success},
		"no outcome":              {status(200), config{Outcome: func(int) window.Outcome { return 9 }}, window.Neutral},
		"the client went: 503":    {gone(status(503)), config{}, window.Neutral},
		"the client went: 504":    {gone(status(504)), config{}, window.Neutral},
		"the client went":         {gone(status()), config{}, window.Neutral},
		"a deadline ran out":      {takes(2 * time.Minute), config{}, window.Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := single(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				req := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(context.WithValue(ctx, leaveKey{}, cancel))
				handler(t, c.inner, d, c.config).ServeHTTP(httptest.NewRecorder(), req)
				d.ended(c.want)

				cancel() // before it was admitted
				w := httptest.NewRecorder()
				handler(t, http.NotFoundHandler(), d).ServeHTTP(w, req)
				assert.Equal(t, http.StatusServiceUnavailable, w.Code)
				assert.Empty(t, w.Header().Get("Retry-After"))
			})
		})
	}
}

func TestPanicsGiveThePlaceBackAndGoOn(t *testing.T) {
	d := single(t)
	serve := func(next http.HandlerFunc, c admission.HandlerConfig) {
		handler(t, next, d, c).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}
	for _, reason := range []any{http.ErrAbortHandler, "boom"} {
		for _, written := range []string{"", "half an ans"} {
			assert.PanicsWithValue(t, reason, func() {
				serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, written); panic(reason) }, admission.HandlerConfig{})
			})
			d.ended(window.Neutral)
		}
	}
	assert.PanicsWithValue(t, "in a hook", func() {
		serve(http.NotFound, admission.HandlerConfig{Outcome: func(int) window.Outcome { panic("in a hook") }})
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
	}), d, admission.HandlerConfig{Bypass: func(r *http.Request) bool { return r.URL.Path == "/healthz" }})
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
	h := handler(t, http.NotFoundHandler(), d, admission.HandlerConfig{Status: http.StatusTooManyRequests, Tags: func(*http.Request) tag.Tags { return tag.Tags{Client: "known", Attempt: 4} }})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, "overloaded, try again later\n", w.Body.String())
	assert.EqualValues(t, 1, d.Snapshot().ByCriticality[tag.Critical].ShedRetries)

	w = httptest.NewRecorder()
	h = handler(t, http.NotFoundHandler(), d, admission.HandlerConfig{Refusal: func(w http.ResponseWriter, _ *http.Request, s *admission.Shed) {
		w.WriteHeader(529)
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]string{"reason": s.Reason}))
	}})
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	assert.Equal(t, 529, w.Code)
	assert.JSONEq(t, `{"reason":"full"}`, w.Body.String())
	assert.NotEmpty(t, w.Header().Get("Retry-After"))
	p.Done(window.Success)
	d.ended(window.Success)

	for want, o := range map[string]admission.HandlerConfig{
		"admission: Status: 500 is not allowed, want 503 or 429":                       {Status: 500},
		"admission: Slow: -1s is not allowed, want a positive duration, or 0 for none": {Slow: -time.Second},
		"admission: Status: 200 is not allowed, want 503 or 429":                       {Status: 200},
	} {
		_, err := admission.NewHandler(http.NotFoundHandler(), d.Controller, o)
		assert.EqualError(t, err, want)
	}
	_, err = admission.NewHandler(nil, d.Controller, admission.HandlerConfig{})
	assert.EqualError(t, err, "admission: handler: nil is not allowed")
	_, err = admission.NewHandler(http.NotFoundHandler(), nil, admission.HandlerConfig{})
	assert.EqualError(t, err, "admission: controller: nil is not allowed")
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
	h, err := admission.NewHandler(app, c, admission.HandlerConfig{Bypass: func(r *http.Request) bool { return r.URL.Path == "/healthz" }})
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

// leaveKey is the key of a context for what ends it.
type leaveKey struct{}
