package remote_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/remote"
)

// serve is a server on loopback, and a source that fetches from it.
func serve(t *testing.T, h http.HandlerFunc) (*httptest.Server, remote.Source) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	source, err := remote.NewHTTP(server.URL+"/clients.json?token=secret", nil, nil)
	require.NoError(t, err)
	return server, source
}

func reply(w http.ResponseWriter, document string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprint(w, document)
}

func TestHTTPAsksWithTheETag(t *testing.T) {
	var asked []string
	document, etag := version(1, 8), `"one"`
	_, source := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("If-None-Match"))
		assert.Equal(t, "application/json", r.Header.Get("Accept"))
		assert.True(t, r.Close, "no connection is kept open for minutes")
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		reply(w, document)
	})
	a := &applied{}
	c := looked(t, source, a.apply)
	require.NoError(t, c.Refresh(t.Context()))
	require.EqualValues(t, 2, c.Snapshot().Looks)
	require.Zero(t, c.Snapshot().Failures)

	document, etag = version(0, 8), `"bad"`
	require.Error(t, c.Refresh(t.Context()))
	require.Error(t, c.Refresh(t.Context()))
	document, etag = version(2, 9), `W/"two"`
	require.NoError(t, c.Refresh(t.Context()))
	require.NoError(t, c.Refresh(t.Context()))
	require.Equal(t, []string{"", `"one"`, `"one"`, `"bad"`, `"bad"`, `W/"two"`}, asked, "a bad document is not sent twice, and stays bad")
	require.Equal(t, []uint64{1, 2}, a.all())
	require.True(t, strings.HasSuffix(c.Snapshot().Source, "/clients.json"), "without the query, which may hold a secret")
}

// The header of a user is sent along, and does not take away the headers that the source needs.
func TestHTTPSendsTheHeader(t *testing.T) {
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		assert.Equal(t, "application/json", r.Header.Get("Accept"))
		assert.Equal(t, "gzip", r.Header.Get("Accept-Encoding"), "which the transport asks for and takes away")
		assert.Empty(t, r.Header.Get("If-None-Match"))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte(full))
		assert.NoError(t, z.Close())
	})
	source, err := remote.NewHTTP(server.URL, server.Client(), http.Header{
		"Authorization": {"Bearer token"}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip"}, "If-None-Match": {`"1"`},
	})
	require.NoError(t, err)
	require.EqualValues(t, 42, looked(t, source).Snapshot().Document.Version)
	source, err = remote.NewHTTP(server.URL, nil, nil)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("remote: %s: status: 401 Unauthorized is not allowed, want 200", server.URL),
		looked(t, source).Snapshot().LastError)
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"":                             `remote: address: "" is not allowed, want one that begins with http:// or https:// and a host`,
		"config.example":               `remote: address: "config.example" is not allowed, want one that begins with http:// or https:// and a host`,
		"ftp://me:secret@config/a?b=c": `remote: address: "ftp://config/a" is not allowed, want one that begins with http:// or https:// and a host`,
		"localhost:80/a?secret":        `remote: address: "localhost:" is not allowed, want one that begins with http:// or https:// and a host`,
		"me:secret@config/a":           `remote: address: "me:" is not allowed, want one that begins with http:// or https:// and a host`,
		"https:///path":                `remote: address: "https:///path" is not allowed, want one that begins with http:// or https:// and a host`,
		"https://h:port?secret":        `remote: address: invalid port ":port" after host`,
	} {
		_, err := remote.NewHTTP(address, nil, nil)
		assert.EqualError(t, err, want)
	}
	source, err := remote.NewHTTP("https://me:secret@config.example/a?token=secret#x", nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "https://config.example/a", source.String())
	_, err = url.Parse(source.String())
	require.NoError(t, err)
}

// zeros is gzip of n zero bytes.
func zeros(t *testing.T, n int) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range n >> 20 {
		_, err := z.Write(make([]byte, 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.String()
}

// A source that is down or malicious (huge, endless, of a wrong type) changes no setting.
func TestMaliciousServers(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reply(w, version(9, 1)) }))
	defer elsewhere.Close()
	bomb := zeros(t, 8<<20)
	with := func(header, value, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{"application/json"}
			w.Header()[header] = slices.DeleteFunc([]string{value}, func(s string) bool { return s == "" })
			fmt.Fprint(w, body)
		}
	}
	for _, c := range []struct {
		name  string
		serve http.HandlerFunc
		want  string
	}{
		{"down", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		{"error", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, version(9, 1), http.StatusServiceUnavailable)
		}, "status: 503 Service Unavailable is not allowed, want 200"},
		{"gone", http.NotFound, "status: 404 Not Found is not allowed, want 200"},
		{"part", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(206); reply(w, version(9, 1)) }, "status: 206 Partial Content is not allowed, want 200"},
		{"no status at all", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(999) }, "status: 999  is not allowed, want 200"},
		{"empty", func(w http.ResponseWriter, _ *http.Request) { reply(w, "") }, "document: unexpected end of JSON input is not allowed"},
		{"a page to log in", with("Content-Type", "text/html", "<html>"), "document: invalid character '<' looking for beginning of value is not allowed"},
		{"huge, and says so", with("Content-Length", "1000000000000", "{"), "unexpected EOF"},
		{"huge, without an end", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				reply(w, strings.Repeat(" ", 1<<16))
			}
		}, "document: a size of 262145 bytes is not allowed, want 262144 bytes at most"},
		{"a gzip bomb", with("Content-Encoding", "gzip", bomb), "document: a size of 262145 bytes is not allowed, want 262144 bytes at most"},
		{"broken gzip", with("Content-Encoding", "gzip", version(9, 1)), "gzip: invalid header"},
		{"cut off", with("Content-Length", "1000", version(9, 1)), "unexpected EOF"},
		{"a header without an end", func(w http.ResponseWriter, _ *http.Request) {
			for i := range 1000 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1000))
			}
			reply(w, version(9, 1))
		}, "server response headers exceeded 65536 bytes"},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) },
			"status: 302 Found is not allowed, want 200"},
		{"unchanged without a question", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(304) }, "status: 304 Not Modified is not allowed, want 200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, source := serve(t, c.serve)
			a := &applied{}
			client := looked(t, source, a.apply)
			s := client.Snapshot()
			require.Contains(t, s.LastError, c.want)
			require.True(t, strings.HasPrefix(s.LastError, "remote: "))
			require.Contains(t, s.LastError, server.URL+"/clients.json: ")
			require.NotContains(t, s.LastError, "secret")
			require.Empty(t, a.all())
			require.Zero(t, s.Document.Version)
		})
	}
}

// each writes every millisecond until the client goes away.
func each(write func(http.ResponseWriter)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				write(w)
			case <-r.Context().Done():
				return
			}
		}
	}
}

// A look at a server that drips, or never answers, ends after the timeout.
func TestSlowServers(t *testing.T) {
	for name, slow := range map[string]http.HandlerFunc{
		"silent":                 func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"dripping":               each(func(w http.ResponseWriter) { reply(w, " "); w.(http.Flusher).Flush() }),
		"informational for ever": each(func(w http.ResponseWriter) { w.WriteHeader(http.StatusEarlyHints) }),
	} {
		t.Run(name, func(t *testing.T) {
			_, source := serve(t, slow)
			c := remote.New(source)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, c.Refresh(ctx), context.DeadlineExceeded)
			require.EqualValues(t, 1, c.Snapshot().Failures)
			require.NotEmpty(t, c.Snapshot().LastError)

			ctx, cancel = context.WithCancel(t.Context())
			cancel()
			require.ErrorIs(t, c.Refresh(ctx), context.Canceled)
		})
	}
}

// The next host could read the header, so no redirect is followed, unless the Client's own rule decides.
func TestNoRedirectIsFollowed(t *testing.T) {
	server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2" {
			reply(w, version(2, 8))
			return
		}
		http.Redirect(w, r, "/v2", http.StatusMovedPermanently)
	})
	source, err := remote.NewHTTP(server.URL, nil, nil)
	require.NoError(t, err)
	require.Contains(t, looked(t, source).Snapshot().LastError, "status: 301 Moved Permanently")

	own := server.Client()
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return nil }
	source, err = remote.NewHTTP(server.URL, own, nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, looked(t, source).Snapshot().Document.Version)
}

type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// An ETag that no request could have, which transports before Go 1.26 let through, would fail each later fetch.
func TestAnETagThatIsUnfitIsNotSent(t *testing.T) {
	asked, etag := []string{}, ""
	source, err := remote.NewHTTP("http://config.example", &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.Header.Get("If-None-Match"))
		w := httptest.NewRecorder()
		w.Header().Set("ETag", etag)
		reply(w, version(1, 8))
		return w.Result(), nil
	})}, nil)
	require.NoError(t, err)
	for _, etag = range []string{"a\x01b", "a\x7f", `"` + strings.Repeat("x", 255) + `"`, `"1"`, ""} {
		_, err := source.Fetch(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, []string{"", "", "", "", `"1"`}, asked)
}
