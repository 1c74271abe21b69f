package live_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/live"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(h http.Handler, url string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, url, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// files are the files of the page, with their content types.
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
	require.PanicsWithValue(t, "live: limiters or clients are nil, want a function", func() { live.Handler(nil) })
	require.PanicsWithValue(t, "live: limiters or clients are nil, want a function", func() { live.Compare(live.Of(), nil) })
	require.PanicsWithValue(t, "live: Keyed with limiters nil", func() { live.Keyed[string](nil) })
}

// ask sends a request to a server as a browser would, and returns the status.
func ask(t *testing.T, s *httptest.Server, path, host string, header ...string) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	require.NoError(t, err)
	r.Host = cmp.Or(host, r.Host)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.Client().Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	return resp.StatusCode
}

func serve(t *testing.T, hosts ...string) *httptest.Server {
	s := httptest.NewServer(live.Handler(live.Of(attempttest.Reno(t, aimd.Config{})), hosts...))
	t.Cleanup(s.Close)
	return s
}

// Pages of another site could take all places.
func TestPagesOfOtherSitesTakeNoPlace(t *testing.T) {
	s := serve(t)
	others := [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		{"Origin", "https://evil.example"}, {"Origin", "null"},
	}
	for _, header := range others {
		require.Equal(t, http.StatusForbidden, ask(t, s, "/events", "", header...), "%v", header)
		require.Equal(t, http.StatusOK, ask(t, s, "/", "", header...), "a link leads here")
	}
	for _, header := range [][]string{nil, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "same-origin"}, {"Origin", s.URL}} {
		require.Equal(t, http.StatusOK, ask(t, s, "/events", "", header...), "%v", header)
	}
}

// A name that a stranger registered may lead to the server: its page would be one of the
// same origin, and read names and numbers.
func TestANameOfAStrangerIsServedNothing(t *testing.T) {
	s := serve(t, "Metrics.Example.com")
	for _, host := range []string{"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "x.metrics.example.com"} {
		for _, path := range []string{"/", "/events", "/data.js"} {
			require.Equal(t, http.StatusForbidden, ask(t, s, path, host, "Sec-Fetch-Site", "same-origin"), host+path)
		}
	}
	for _, host := range []string{"localhost:8080", "LOCALHOST", "app.localhost:1", "127.0.0.1", "10.0.0.7:80", "[::1]:80", "[::1]", "server1:9090", "metrics.example.com", "METRICS.example.com:443"} {
		require.Equal(t, http.StatusOK, ask(t, s, "/events", host, "Sec-Fetch-Site", "same-origin"), host)
	}
}
