package live_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/window"
)

// message is an event as the script of the page reads it.
type message struct {
	Run      string
	Now      int64
	More     int
	Limiters []struct {
		ID        int
		Name      *string
		Samples   [][]float64 `json:"s"`
		Decisions []struct {
			Seq  uint64 `json:"q"`
			At   int64  `json:"t"`
			Kind string `json:"k"`
			Wait int64  `json:"p"`
			Text string `json:"w"`
		} `json:"d"`
		State  string       `json:"a"`
		Quotas []aimd.Quota `json:"u"`
		Share  *aimd.Share  `json:"f"`
	}
}

func (m message) names() (names []string) {
	for _, l := range m.Limiters {
		if l.Name != nil {
			names = append(names, *l.Name)
		}
	}
	return names
}

func (m message) ids() (ids []int) {
	for _, l := range m.Limiters {
		ids = append(ids, l.ID)
	}
	return ids
}

// page is an open page, in a bubble.
type page struct {
	t     *testing.T
	close func()

	mu     sync.Mutex
	header http.Header
	body   bytes.Buffer
}

func (p *page) Header() http.Header { return p.header }
func (p *page) WriteHeader(int)     {}
func (p *page) Flush()              {}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.body.Write(b)
}

// open opens a page that asks for events at that interval, until the test's end or close.
func open(t *testing.T, h http.Handler, every string) *page {
	ctx, cancel := context.WithCancel(t.Context())
	p := &page{t: t, header: http.Header{}}
	var done sync.WaitGroup
	done.Go(func() {
		h.ServeHTTP(p, httptest.NewRequestWithContext(ctx, http.MethodGet, "/events?every="+every, nil))
	})
	p.close = func() { cancel(); done.Wait() }
	t.Cleanup(p.close)
	synctest.Wait()
	return p
}

// told returns the events since the last call.
func (p *page) told() (all []message) {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for event := range strings.SplitSeq(strings.TrimSuffix(p.body.String(), "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(event, "data: ")
		require.True(p.t, ok, event)
		require.NotContains(p.t, data, "\n")
		var m message
		require.NoError(p.t, json.Unmarshal([]byte(data), &m))
		all = append(all, m)
	}
	p.body.Reset()
	return all
}

func (p *page) last() message {
	all := p.told()
	return all[len(all)-1]
}

func TestAPageIsToldHowItIsAndWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Reno(t, aimd.Config{Name: "photos", InitialWindow: 8})
		attempttest.Acquire(t, l).End(aimd.Refused(errors.New("busy")))
		time.Sleep(time.Minute)
		p := open(t, live.Handler(live.Of(l)), "250ms")
		require.Equal(t, "text/event-stream", p.header.Get("Content-Type"))
		require.Equal(t, "nosniff", p.header.Get("X-Content-Type-Options"))
		require.Equal(t, "no", p.header.Get("X-Accel-Buffering"))
		first := p.told()
		require.Len(t, first, 1, "at once")
		got := first[0].Limiters[0]
		require.Equal(t, "photos", *got.Name)
		now := time.Now().UnixMilli()
		require.Equal(t, [][]float64{{float64(now), 4, 4, 0, 0, 0, 1, 0, 0}}, got.Samples)
		require.Len(t, got.Decisions, 1, "what happened before anybody looked")
		require.Equal(t, "cut: first refusal of a burst, 8 -> 4", got.Decisions[0].Text)
		require.Equal(t, now-60_000, got.Decisions[0].At)
		require.Equal(t, "idle", got.State)

		permits := []aimd.Permit{attempttest.Acquire(t, l), attempttest.Acquire(t, l)}
		attempttest.Acquire(t, l).End(nil)
		time.Sleep(time.Second)
		news := p.told()
		require.Len(t, news, 4, "four a second")
		got = news[3].Limiters[0]
		require.Nil(t, got.Name)
		require.Empty(t, got.Decisions)
		require.Equal(t, []float64{float64(time.Now().UnixMilli()), 4, 4, 2, 0, 1, 1, 0, 0}, got.Samples[0])
		require.Equal(t, "steady", got.State)

		permits[0].End(aimd.Refused(errors.New("busy")))
		time.Sleep(250 * time.Millisecond)
		require.Equal(t, "cut", p.last().Limiters[0].Decisions[0].Kind)
		permits[1].End(nil)
	})
}

// takesOne is a law by which each refusal takes one.
type takesOne struct{}

func deeper(window.Settings) window.Law { return takesOne{} }

func (takesOne) Timed() bool { return false }

func (takesOne) Answered(_ time.Duration, s window.State, a window.End) window.State {
	if a.Outcome.Overloaded() {
		s.Cwnd--
	}
	return s
}

func TestARefusalThatMakesACutDeeperIsACut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Limiter(t, aimd.Config{InitialWindow: 4, Law: deeper})
		permits := []aimd.Permit{attempttest.Acquire(t, l), attempttest.Acquire(t, l), attempttest.Acquire(t, l), attempttest.Acquire(t, l)}
		for _, p := range permits[:2] {
			p.End(aimd.Refused(errors.New("busy")))
		}
		got := open(t, live.Handler(live.Of(l)), "250ms").last().Limiters[0].Decisions
		require.Len(t, got, 2)
		require.Equal(t, "cut", got[1].Kind)
		require.Equal(t, "cut: more refusals of the burst, 3 -> 2", got[1].Text)
		for _, p := range permits[2:] {
			p.End(nil)
		}
	})
}

// What is left of the service's quota stands on the page. If it is used up and operations wait, that is the state:
// which quota, and until when.
func TestAQuotaOfTheService(t *testing.T) {
	for left, state := range map[string]string{"59": "steady", "0": "quota"} {
		synctest.Test(t, func(t *testing.T) {
			l := attempttest.Reno(t, aimd.Config{MaxWindow: 1})
			reported := http.Header{"Ratelimit-Limit": {"100"}, "Ratelimit-Remaining": {left}, "Ratelimit-Reset": {"3600"}}
			tr := &httplimit.Transport{Base: roundTrip(func(req *http.Request) (*http.Response, error) {
				time.Sleep(time.Second)
				return &http.Response{StatusCode: 200, Header: reported, Body: http.NoBody, Request: req}, nil
			}), Limiter: l}
			ctx, cancel := context.WithCancel(t.Context())
			for range 10 {
				go func() {
					_, _ = tr.RoundTrip(httptest.NewRequest(http.MethodGet, "http://service.example", nil).WithContext(ctx))
				}()
			}
			time.Sleep(2500 * time.Millisecond)
			told := open(t, live.Handler(live.Of(l)), "100ms").told()[0].Limiters[0]
			require.Equal(t, "requests", told.Quotas[0].Name)
			require.Equal(t, left, fmt.Sprint(told.Quotas[0].Left))
			if state == "quota" {
				require.Equal(t, state, told.State)
				require.WithinDuration(t, time.Now().Add(time.Hour), told.Quotas[0].UsedUpUntil, 3*time.Second)
			} else {
				require.NotEqual(t, "quota", told.State)
			}
			cancel()
			time.Sleep(time.Second) // the request that was sent ends
		})
	}
}

// A page is told the share of a fleet, how many processes there are, who leads, and since when the store is silent.
func TestAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Reno(t, aimd.Config{})
		p := open(t, live.Handler(live.Of(l)), "100ms")
		require.Nil(t, p.told()[0].Limiters[0].Share)
		heard := time.Now()
		time.Sleep(3 * time.Second)
		share := aimd.Share{Mode: "silent", Window: 2.5, Processes: 30, Leads: true, Heard: heard}
		require.NoError(t, l.Follow(share, window.State{}, limiter.Part{}, errors.New("away")))
		time.Sleep(time.Second)
		told := p.last()
		require.WithinDuration(t, heard, told.Limiters[0].Share.Heard, 0)
		require.Equal(t, heard.Add(4*time.Second).UnixMilli(), told.Now)
		told.Limiters[0].Share.Heard = heard
		require.Equal(t, share, *told.Limiters[0].Share)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestALaterPageIsToldThePast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := live.Handler(live.Of(attempttest.Reno(t, aimd.Config{})))
		early := open(t, h, "100ms")
		time.Sleep(15 * time.Minute)
		run := early.last().Run
		second := open(t, h, "1s")
		late := second.told()[0]
		require.Equal(t, run, late.Run)
		require.Equal(t, "limiter", *late.Limiters[0].Name)
		samples := late.Limiters[0].Samples
		require.InDelta(t, 601, len(samples), 2, "ten minutes, a second apart")
		require.Equal(t, 600_000.0, samples[len(samples)-1][0]-samples[0][0])

		early.close()
		second.close()
		time.Sleep(5 * time.Minute)
		samples = open(t, h, "1s").told()[0].Limiters[0].Samples
		require.InDelta(t, 302, len(samples), 2, "what was seen before is kept")
	})
}

func TestNothingRunsWhileNoPageIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, looks := attempttest.Reno(t, aimd.Config{}), 0
		h := live.Handler(func() iter.Seq2[string, *aimd.Limiter] {
			looks++
			return live.Of(l)()
		})
		time.Sleep(time.Hour)
		require.Zero(t, looks)
		a, b := open(t, h, "1s"), open(t, h, "1s")
		time.Sleep(10500 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 11, looks, "pages share a look")
		a.close()
		b.close()
		time.Sleep(time.Hour)
		require.Equal(t, 11, looks)
	})
}

func TestKeyedLimitersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keyed, err := aimd.NewKeyed(func(int) (*aimd.Limiter, error) { return aimd.New(aimd.Config{Law: aimd.Reno(0.5)}) }, aimd.KeyedConfig{Idle: time.Minute})
		require.NoError(t, err)
		p := open(t, live.Handler(live.Keyed(keyed)), "1s")
		require.Empty(t, p.last().Limiters)
		time.Sleep(time.Second / 2)
		use := func(key int) {
			l, err := keyed.For(key)
			require.NoError(t, err)
			attempttest.Acquire(t, l).End(nil)
			time.Sleep(time.Second)
		}
		use(7)
		use(8)
		all := p.told()
		require.Equal(t, []string{"7"}, all[0].names())
		require.Equal(t, []string{"8"}, all[1].names())
		require.Len(t, all[1].Limiters, 2)
		seven := all[0].Limiters[0].ID
		time.Sleep(59 * time.Second)
		use(8) // which lets go of 7
		got := p.last().Limiters
		require.Len(t, got, 1)
		require.NotEqual(t, seven, got[0].ID)
	})
}

func TestThereIsRoomForSoManyLimiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := []*aimd.Limiter{nil}
		for i := range 60 {
			all = append(all, attempttest.Reno(t, aimd.Config{Name: fmt.Sprintf("%02d", i)}))
		}
		p := open(t, live.Handler(live.Of(all...)), "1s")
		first := p.last()
		require.Len(t, first.Limiters, 50)
		require.Equal(t, 10, first.More)
		require.Equal(t, "00", first.names()[0])
		time.Sleep(20 * time.Second)
		require.Empty(t, p.last().names(), "they do not take turns")
	})
}

func TestHostileNamesAreDataOnly(t *testing.T) {
	names := []string{"</script><script>alert(1)</script>", "a\n\ndata: {}\n\n", "\x00\xff\u2028\u202e"}
	synctest.Test(t, func(t *testing.T) {
		var all []*aimd.Limiter
		for _, n := range names {
			all = append(all, attempttest.Reno(t, aimd.Config{Name: n}))
		}
		p := open(t, live.Handler(live.Of(all...)), "1s")
		p.mu.Lock()
		require.NotContains(t, p.body.String(), "<")
		p.mu.Unlock()
		got := p.last().names()
		require.Equal(t, []string{"\x00\ufffd\u2028\u202e", names[0], names[1]}, got)
	})
}

func TestTheLatestOfManyDecisionsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := attempttest.Reno(t, aimd.Config{})
		p := open(t, live.Handler(live.Of(l)), "1s")
		p.told()
		for range 100 {
			require.NoError(t, l.Reconfigure(func(*aimd.Config) {}))
		}
		time.Sleep(time.Second)
		got := p.last().Limiters[0].Decisions
		require.Len(t, got, 32, "as many as a limiter keeps")
		require.EqualValues(t, 100, got[31].Seq)
	})
}

func TestAtMostSoManyPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := live.Handler(live.Of(attempttest.Reno(t, aimd.Config{})))
		var all []*page
		for range 16 {
			all = append(all, open(t, h, "1s"))
		}
		w := get(h, "/events")
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.Equal(t, "5", w.Header().Get("Retry-After"))
		require.Contains(t, w.Body.String(), "16 pages are open already")
		all[3].close()
		require.Len(t, open(t, h, "1s").told(), 1)
	})
}

// A real server: the client goes away, and Shutdown does not wait for pages.
func TestAPageEndsWithItsClientAndItsServer(t *testing.T) {
	l := attempttest.Reno(t, aimd.Config{})
	begun, ended := make(chan bool, 2), make(chan bool, 2)
	h := live.Handler(live.Of(l))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- true
		h.ServeHTTP(w, r)
		ended <- true
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	read := func(ctx context.Context) *http.Response {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events?every=100ms", nil)
		require.NoError(t, err)
		resp, err := server.Client().Do(r)
		require.NoError(t, err)
		line, err := bufio.NewReader(resp.Body).ReadString('\n')
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(line, `data: {"run":`), line)
		<-begun
		return resp
	}
	first := read(ctx)
	cancel()
	<-ended
	_ = first.Body.Close()

	second := read(t.Context())
	require.NoError(t, server.Config.Shutdown(t.Context()))
	<-ended
	_ = second.Body.Close()
	server.Client().CloseIdleConnections()
}

type deaf struct{ *httptest.ResponseRecorder }

func (deaf) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestAPageThatCannotBeToldEnds(t *testing.T) {
	live.Handler(live.Of(attempttest.Reno(t, aimd.Config{}))).ServeHTTP(deaf{httptest.NewRecorder()}, httptest.NewRequest(http.MethodGet, "/events", nil))
}

// A Keyed yields its limiters in another order at each look.
func TestTheOrderIsThatOfTheNamesAtEachLook(t *testing.T) {
	k, err := aimd.NewKeyed(func(string) (*aimd.Limiter, error) { return aimd.New(aimd.Config{Law: aimd.Reno(0.5)}) }, aimd.KeyedConfig{})
	require.NoError(t, err)
	use := func(name string) {
		_, err := k.For(name)
		require.NoError(t, err)
	}
	var want []string
	for i := range 9 {
		want = append(want, fmt.Sprintf("customer-%d", i))
		use(want[i])
	}
	synctest.Test(t, func(t *testing.T) {
		p := open(t, live.Handler(live.Keyed(k)), "1s")
		first := p.last()
		require.Equal(t, want, first.names())
		use("a later one")
		for range 10 {
			time.Sleep(time.Second)
			got := p.last().Limiters
			require.Len(t, got, 10)
			require.NotContains(t, first.ids(), got[0].ID, "the later one is the first by name")
			for i, id := range first.ids() {
				require.Equal(t, id, got[1+i].ID)
			}
		}
	})
}
