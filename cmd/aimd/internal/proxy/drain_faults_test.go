package proxy

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A rolling update: whoever spreads requests learns at once that this proxy goes, and has --drain-delay to act on it.
// Meanwhile each request is answered, also that over a connection that was idle. What waits after --drain is told.
func TestWhatIsReplacedLosesNothing(t *testing.T) {
	inBubble(t, handled(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(20 * time.Second)
		}
		if r.URL.Path == "/slower" {
			time.Sleep(2 * time.Minute)
		}
	}), func(s *settings) { s.maxWindow, s.hold, s.idle = 2, 10*time.Minute, 10*time.Minute }, func(t *testing.T, b bubble) {
		health := func() int {
			w := httptest.NewRecorder()
			b.admin().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
			return w.Code
		}
		c, err := b.programs.dial()
		require.NoError(t, err)
		defer c.Close()
		in := bufio.NewReader(c)
		again := func() *http.Response {
			go io.WriteString(c, "POST /kept HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
			resp, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			return resp
		}
		resp := again()
		assert.Equal(t, 200, resp.StatusCode)
		assert.False(t, resp.Close)
		assert.Equal(t, 200, health())
		statuses := make(chan int, 2)
		for _, path := range []string{"/slow", "/slower"} {
			go func() {
				status, _, _ := b.ask(t, get(path))
				statuses <- status
			}()
		}
		synctest.Wait()
		began, stopped := time.Now(), make(chan error, 1)
		go func() { stopped <- b.drained(t.Context(), b.server) }()
		synctest.Wait()
		assert.Equal(t, 503, health(), "at once")

		// Two are in flight, so those that come now wait.
		waiting := make(chan int, 1)
		go func() {
			status, _, _ := b.ask(t, get("/waits", "X-Api-Key: other"))
			waiting <- status
		}()
		assert.Equal(t, 200, <-waiting, "another key")
		time.Sleep(4 * time.Second)
		go func() { statuses <- again().StatusCode }()
		assert.Equal(t, 200, <-statuses, "that of 20 s")
		assert.Equal(t, 20*time.Second, time.Since(began).Round(time.Second))
		assert.Equal(t, 200, <-statuses, "that of the idle connection")
		_, err = in.ReadByte()
		assert.ErrorIs(t, err, io.EOF, "its answer was the last")
		_, err = b.programs.dial()
		assert.Error(t, err, "the port is closed after --drain-delay")

		assert.ErrorContains(t, <-stopped, "--drain 30s: is over")
		assert.Equal(t, 502, <-statuses, "in flight after --drain")
		assert.Equal(t, 35*time.Second, time.Since(began).Round(time.Second))
		time.Sleep(2 * time.Minute) // the service goes on
		b.settled(t, "all")
	})
}

// What waits when --drain is over was never sent: it gets a 429, so that its program sends it elsewhere.
func TestWhatWaitsAfterTheDrainIsTold(t *testing.T) {
	inBubble(t, handled(func(http.ResponseWriter, *http.Request) { time.Sleep(2 * time.Minute) }), func(s *settings) {
		s.maxWindow, s.hold, s.idle = 1, 10*time.Minute, 10*time.Minute
	}, func(t *testing.T, b bubble) {
		go b.ask(t, get("/flies"))
		synctest.Wait()
		told := make(chan http.Header, 1)
		go func() {
			status, header, _ := b.ask(t, get("/waits"))
			assert.Equal(t, 429, status)
			told <- header
		}()
		synctest.Wait()
		assert.Error(t, b.drained(t.Context(), b.server))
		header := <-told
		assert.NotEmpty(t, header.Get("Retry-After"))
		assert.Contains(t, header.Get("Aimd-Reason"), "--drain")
		time.Sleep(2 * time.Minute)
		b.settled(t, "all")
	})
}
