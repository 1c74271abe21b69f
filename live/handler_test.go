package live_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/live"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func reno(t *testing.T, opts ...aimd.Option) *limiter.Limiter {
	t.Helper()
	l, err := aimd.NewReno(opts...)
	require.NoError(t, err)
	return l
}

func get(h http.Handler, url string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, url, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// files are the page's, with what they are served as.
var files = map[string]string{
	"": "text/html; charset=utf-8", "live.css": "text/css; charset=utf-8",
	"data.js": "text/javascript; charset=utf-8", "chart.js": "text/javascript; charset=utf-8",
	"words.js": "text/javascript; charset=utf-8", "live.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
}

func TestThePageWorksBelowAnyPrefix(t *testing.T) {
	h := live.Handler(live.Of())
	mux := http.NewServeMux()
	mux.Handle("/debug/aimd/", h)
	for prefix, h := range map[string]http.Handler{"/": h, "/a/b/": h, "/debug/aimd/": mux, "/x/": http.StripPrefix("/x/", h)} {
		for name, kind := range files {
			w := get(h, prefix+name)
			if name == "" && w.Code == http.StatusMovedPermanently {
				continue // http.StripPrefix with its slash leaves no path at all
			}
			require.Equal(t, http.StatusOK, w.Code, prefix+name)
			require.Equal(t, kind, w.Header().Get("Content-Type"))
			require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'self'")
			require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
			require.NotZero(t, w.Body.Len())
			require.Equal(t, http.StatusNotModified, get(h, prefix+name, "If-None-Match", w.Header().Get("Etag")).Code)
		}
		require.Equal(t, http.StatusNotFound, get(h, prefix+"nothing").Code)
	}
	require.Equal(t, "/debug/aimd/", get(mux, "/debug/aimd").Header().Get("Location"))
	w := get(http.StripPrefix("/debug/aimd", h), "/debug/aimd?x=1")
	require.Equal(t, http.StatusMovedPermanently, w.Code)
	require.Equal(t, "./aimd/", w.Header().Get("Location"), "the page's files are below it")
}

func TestThePageIsSmallAndItsOwn(t *testing.T) {
	h := live.Handler(live.Of())
	total := 0
	var zipped bytes.Buffer
	for name := range files {
		body := get(h, "/"+name).Body.Bytes()
		total += len(body)
		z := gzip.NewWriter(&zipped)
		_, err := z.Write(body)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		others := regexp.MustCompile(`https?://`).FindAllIndex(body, -1)
		if name == "icon.svg" {
			others = others[1:] // the name of SVG
		}
		if strings.HasSuffix(name, ".js") {
			require.NotContains(t, string(body), "</script", "a saved page has it inside")
		}
		require.Empty(t, others, "%s has an address of elsewhere", name)
	}
	require.LessOrEqual(t, total, 60_000)
	require.LessOrEqual(t, zipped.Len(), 20_000)
	t.Logf("%d bytes, %d compressed", total, zipped.Len())

	page := get(h, "/").Body.String()
	require.NotRegexp(t, `(?i)<style|\sstyle=|\son[a-z]+=|<script>`, page, "a strict policy forbids code in the page")
}

func TestOnlyGetAndHead(t *testing.T) {
	h := live.Handler(live.Of())
	for _, path := range []string{"/", "/events", "/live.js"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
		require.Equal(t, http.StatusMethodNotAllowed, w.Code)
		require.Equal(t, "GET, HEAD", w.Header().Get("Allow"))

		w = httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, path, nil))
		require.Equal(t, http.StatusOK, w.Code)
		require.Zero(t, w.Body.Len())
	}
}

func TestEventsSayWhatIsAllowed(t *testing.T) {
	h := live.Handler(live.Of())
	for _, every := range []string{"99ms", "1001ms", "-1s", "often", "1"} {
		w := get(h, "/events?every="+every)
		require.Equal(t, http.StatusBadRequest, w.Code, every)
		require.Contains(t, w.Body.String(), `every: "`+every+`" is not allowed, want a duration from 100ms to 1s`)
	}
}

func TestHandlerWithoutLimitersPanics(t *testing.T) {
	require.Panics(t, func() { live.Handler(nil) })
}
