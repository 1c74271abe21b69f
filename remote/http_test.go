package remote_test

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

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
	c := started(t, source, remote.Settings{}, a)
	require.NoError(t, c.Refresh(t.Context()))
	require.EqualValues(t, 2, c.Snapshot().Looks)
	require.Zero(t, c.Snapshot().Failures)

	document, etag = version(0, 8), `"bad"`
	require.Error(t, c.Refresh(t.Context()))
	require.Error(t, c.Refresh(t.Context()))
	document, etag = version(2, 9), `W/"two"`
	require.NoError(t, c.Refresh(t.Context()))
	require.NoError(t, c.Refresh(t.Context()))
	require.Equal(t, []string{"", `"one"`, `"one"`, `"one"`, `"one"`, `W/"two"`}, asked, "the mark is that of the document in force")
	require.Equal(t, []uint64{1, 2}, a.all())
	require.True(t, strings.HasSuffix(c.Snapshot().From, "/clients.json"), "without the query, which may hold a secret")
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
	require.EqualValues(t, 42, started(t, source, remote.Settings{}).Snapshot().Version)
	source, err = remote.NewHTTP(server.URL, nil, nil)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("remote: GET %s: status: 401 Unauthorized is not allowed, want 200", server.URL),
		started(t, source, remote.Settings{}).Snapshot().LastError)
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"":                             `remote: address: "" is not allowed, want one that begins with http:// or https:// and a host`,
		"config.example":               `remote: address: "config.example" is not allowed, want one that begins with http:// or https:// and a host`,
		"ftp://me:secret@config/a?b=c": `remote: address: "ftp://config/a" is not allowed, want one that begins with http:// or https:// and a host`,
		"localhost:80/a?secret":        `remote: address: "localhost:80/a" is not allowed, want one that begins with http:// or https:// and a host`,
		"me:secret@config/a":           `remote: address: "me:config/a" is not allowed, want one that begins with http:// or https:// and a host`,
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
