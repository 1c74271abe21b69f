package httplimit_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
)

// capped is a service that refuses more than 16 requests at a time with 429, and counts what it did.
type capped struct {
	busy, refused atomic.Int32
	// done counts how often each request was served.
	done sync.Map
}

func (c *capped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer c.busy.Add(-1)
	if c.busy.Add(1) > 16 {
		c.refused.Add(1)
		http.Error(w, "busy", http.StatusTooManyRequests)
		return
	}
	time.Sleep(time.Millisecond) // the service time
	times, _ := c.done.LoadOrStore(r.URL.Path[1:], new(atomic.Int32))
	times.(*atomic.Int32).Add(1)
	_, _ = io.WriteString(w, r.URL.Path[1:])
}

// run sends 1000 requests from 64 goroutines, and checks that each was served once.
func (c *capped) run(t *testing.T, send func(id string) error) {
	t.Helper()
	ids := make(chan int)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for id := range ids {
				assert.NoError(t, send(strconv.Itoa(id)))
			}
		})
	}
	for id := range 1000 {
		ids <- id
	}
	close(ids)
	all.Wait()
	served := 0
	c.done.Range(func(id, times any) bool {
		served++
		return assert.EqualValues(t, 1, times.(*atomic.Int32).Load(), "request %v", id)
	})
	assert.Equal(t, 1000, served)
	assert.NotZero(t, c.refused.Load(), "the service never refused, so this shows nothing")
}

// loaded is a limiter for many requests at once.
func loaded(t *testing.T) *limiter.Limiter {
	t.Helper()
	l, err := aimd.NewReno(aimd.WithInitialWindow(64), aimd.WithPause(time.Millisecond, 10*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(func() {
		s := l.Snapshot()
		assert.Zero(t, s.InFlight)
		assert.Zero(t, s.Queued)
		assert.Zero(t, s.Late)
	})
	return l
}

// fetch gets the request's answer and checks it.
func fetch(ctx context.Context, client *http.Client, url, id string) error {
	resp, err := client.Do(get(ctx, url+"/"+id))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := httplimit.Check(resp); err != nil {
		return err
	}
	got, err := io.ReadAll(resp.Body)
	if err == nil && string(got) != id {
		return io.ErrUnexpectedEOF
	}
	return err
}

func TestDoAndCheckLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loaded(t)
		service := &capped{}
		s := pipe(t, service)
		client := s.Client()
		service.run(t, func(id string) error {
			return l.Do(t.Context(), func(ctx context.Context) error { return fetch(ctx, client, s.URL, id) })
		})
	})
}

// The same with a Transport and a loop that tries again, as SDKs have one.
func TestATransportAndALoopLoseNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loaded(t)
		service := &capped{}
		s := pipe(t, service)
		client := &http.Client{Transport: httplimit.New(s.Client().Transport, l)}
		service.run(t, func(id string) error {
			for ctx := t.Context(); ; ctx = attempt.WithRetry(t.Context()) {
				if err := fetch(ctx, client, s.URL, id); err == nil {
					return nil
				}
				time.Sleep(rand.N(10 * time.Millisecond))
			}
		})
		snapshot := l.Snapshot()
		assert.EqualValues(t, 1000, snapshot.Successes)
		assert.EqualValues(t, service.refused.Load(), snapshot.Overloads)
	})
}

// Whatever callers do with requests and bodies, no slot is lost.
func TestNoSlotIsLostWhateverCallersDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := loaded(t)
		s := pipe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write(make([]byte, 100<<10))
		}))
		client := &http.Client{Transport: httplimit.New(s.Client().Transport, l)}
		var all sync.WaitGroup
		for range 32 {
			all.Go(func() {
				for range 50 {
					ctx, cancel := context.WithCancel(t.Context())
					cancelled := make(chan struct{})
					if rand.N(2) == 0 {
						go func() { cancel(); close(cancelled) }()
					} else {
						close(cancelled)
					}
					resp, err := client.Do(get(ctx, s.URL))
					if err == nil {
						switch rand.N(3) {
						case 0:
							_, _ = io.Copy(io.Discard, resp.Body)
						case 1:
							_, _ = resp.Body.Read(make([]byte, 1))
						}
						if rand.N(4) > 0 {
							_ = resp.Body.Close()
						}
					}
					<-cancelled
					cancel()
				}
			})
		}
		all.Wait()
		synctest.Wait() // what nobody closed comes back by its context, on a goroutine of its own
		require.Zero(t, l.Snapshot().InFlight)
	})
}
