package httplimit_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/window"
)

// late is what a service sends that takes its time for each piece, by the clock.
type late struct {
	io.Reader
	clock *clock.Mock
	takes time.Duration
}

func (l late) Read(p []byte) (int, error) {
	l.clock.Add(l.takes)
	return l.Reader.Read(p)
}

// An answer that is copied from elsewhere begins with its first byte, whatever way the copy goes: a
// handler can still say 503 before that, and may be slow until then.
func TestACopyBeginsTheAnswerWhenItBegins(t *testing.T) {
	for _, p := range serverProtocols {
		t.Run(p.name, func(t *testing.T) {
			outcomes := make(chan window.Outcome, 1)
			mock := clock.NewMock()
			c, err := admission.New(admission.Fixed(1), admission.Config{Clock: mock, Observer: func(e admission.Event) {
				if e.Kind == admission.Released {
					outcomes <- e.Outcome
				}
			}})
			require.NoError(t, err)
			content, takes := strings.Repeat("0123456789", 1000), 20*time.Second
			h, err := httplimit.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/broken" {
					_, err := io.Copy(w, broken{io.ErrUnexpectedEOF})
					assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
					http.Error(w, "the service behind is away", http.StatusServiceUnavailable)
					return
				}
				n, err := io.Copy(w, late{strings.NewReader(content), mock, takes})
				assert.EqualValues(t, len(content), n)
				assert.NoError(t, err)
			}), c, httplimit.HandlerConfig{Slow: 15 * time.Second})
			require.NoError(t, err)
			s := p.start(t, h)
			get := func(path string) (int, string) {
				resp, err := s.Client().Get(s.URL + path)
				require.NoError(t, err)
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				return resp.StatusCode, string(body)
			}
			status, _ := get("/broken")
			assert.Equal(t, http.StatusServiceUnavailable, status)
			assert.Equal(t, window.Overload, <-outcomes)
			_, body := get("/")
			assert.Equal(t, content, body)
			assert.Equal(t, window.Timeout, <-outcomes)
			takes = 10 * time.Second // and then 10 s for the next piece
			_, body = get("/")
			assert.Equal(t, content, body)
			assert.Equal(t, window.Success, <-outcomes)
		})
	}
}
