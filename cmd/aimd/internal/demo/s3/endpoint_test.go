package s3

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
)

// server is an S3 server with an object that is not ours, behind a handler that
// may meddle.
func server(t *testing.T, meddle func(w http.ResponseWriter, r *http.Request, next http.Handler)) (*httptest.Server, *s3mem.Backend) {
	t.Helper()
	clitest.AWS(t)
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket("mine"))
	_, err := backend.PutObject("mine", "keep", nil, strings.NewReader("kept"), 4, nil)
	require.NoError(t, err)
	s3 := gofakes3.New(backend).Server()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { meddle(w, r, s3) }))
	t.Cleanup(s.Close)
	return s, backend
}

func asItIs(w http.ResponseWriter, r *http.Request, next http.Handler) { next.ServeHTTP(w, r) }

func keys(t *testing.T, backend *s3mem.Backend, bucket string) (keys []string) {
	t.Helper()
	list, err := backend.ListBucket(bucket, nil, gofakes3.ListBucketPage{})
	require.NoError(t, err)
	for _, o := range list.Contents {
		keys = append(keys, o.Key)
	}
	return keys
}

func remote(s *httptest.Server, bucket string) Config {
	c := tiny()
	c.Endpoint, c.Bucket, c.Slots = s.URL, bucket, 0
	return c
}

func TestEndpointWithABucket(t *testing.T) {
	s, backend := server(t, asItIs)
	for _, r := range all(t, t.Context(), remote(s, "mine"), &watcher{}) {
		assert.Zero(t, r.Lost, r.Strategy)
		assert.Zero(t, r.OptimumS, r.Strategy)
		assert.Zero(t, r.Peak, r.Strategy)
	}
	assert.Equal(t, []string{"keep"}, keys(t, backend, "mine"))
}

func TestEndpointWithoutABucket(t *testing.T) {
	s, backend := server(t, asItIs)
	all(t, t.Context(), remote(s, ""), &watcher{})
	exists, err := backend.BucketExists(ownBucket)
	require.NoError(t, err)
	assert.False(t, exists, "made and removed again")

	require.NoError(t, backend.CreateBucket(ownBucket))
	all(t, t.Context(), remote(s, ""), &watcher{})
	assert.Empty(t, keys(t, backend, ownBucket), "was there before, so it stays")
}

// A store that says 200 and keeps nothing, or something else, or a part of it.
func TestLostIsWhatTheStoreHasNot(t *testing.T) {
	s, _ := server(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut {
			switch {
			case strings.HasSuffix(r.URL.Path, name(3)):
				_, _ = io.Copy(io.Discard, r.Body)
				return
			case strings.HasSuffix(r.URL.Path, name(5)):
				body, _ := io.ReadAll(r.Body)
				body[17]++
				r.Body = io.NopCloser(bytes.NewReader(body))
			}
		}
		next.ServeHTTP(w, r)
	})
	c := remote(s, "mine")
	c.Only = []string{"sdk-default", "reno"}
	for _, r := range all(t, t.Context(), c, &watcher{}) {
		assert.Equal(t, 2, r.Lost, r.Strategy)
		assert.Equal(t, 2, r.Silent, r.Strategy)
		assert.Equal(t, 40, r.Operations, r.Strategy)
	}
}

var etag = regexp.MustCompile(`&#34;[0-9a-f]{32}&#34;`)

// Encrypting stores have other ETags: then the content decides.
func TestETagsThatAreNoMD5(t *testing.T) {
	s, _ := server(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, name(5)) {
			r.Body = io.NopCloser(bytes.NewReader(make([]byte, 1000)))
		}
		if r.Method != http.MethodGet || !r.URL.Query().Has("list-type") {
			next.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		_, _ = w.Write(etag.ReplaceAll(rec.Body.Bytes(), []byte("something-else")))
	})
	c := remote(s, "mine")
	c.Only = []string{"reno"}
	assert.Equal(t, 1, all(t, t.Context(), c, &watcher{})[0].Lost)
}

func TestUploadsThatCanNotSucceedEnd(t *testing.T) {
	s, _ := server(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "object-") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
	for _, r := range all(t, t.Context(), remote(s, "mine"), &watcher{}) {
		assert.Equal(t, 40, r.Lost, r.Strategy)
		assert.Equal(t, 40, r.Attempts, r.Strategy)
		assert.Contains(t, r.Reason, "Forbidden", r.Strategy)
	}
}

func TestWhatIsLeftIsTold(t *testing.T) {
	s, _ := server(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
	c := remote(s, "mine")
	c.Only = []string{"reno"}
	var w watcher
	for _, err := range Run(t.Context(), c, &w) {
		require.NoError(t, err)
	}
	require.Len(t, w.warnings, 1)
	assert.Regexp(t, `^objects are left in bucket mine under aimd-demo-\w+/reno/: `, w.warnings[0])
}

func TestEndpointsThatCanNotBeUsed(t *testing.T) {
	good, _ := server(t, asItIs)
	readOnly, _ := server(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodHead {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, c := range map[string]struct {
		endpoint, bucket, want string
	}{
		"refuses":        {gone.URL, "", "--endpoint " + gone.URL + ": nobody answers there: "},
		"missing bucket": {good.URL, "nope", "--bucket nope: there is no such bucket at " + good.URL + "; make it first, or leave --bucket out"},
		"may not make":   {readOnly.URL, "", "--endpoint " + readOnly.URL + ": the credentials do not allow making bucket aimd-demo: "},
		"may not write":  {readOnly.URL, "mine", "--endpoint " + readOnly.URL + ": the credentials do not allow writing to bucket mine: "},
	} {
		t.Run(name, func(t *testing.T) {
			config := tiny()
			config.Endpoint, config.Bucket = c.endpoint, c.bucket
			var w watcher
			for _, err := range Run(t.Context(), config, &w) {
				assert.ErrorContains(t, err, c.want)
			}
			assert.Empty(t, w.begun, "no strategy runs")
		})
	}
}

func TestNoCredentials(t *testing.T) {
	s, _ := server(t, asItIs)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	_, err := connect(t.Context(), s.URL, "")
	assert.ErrorContains(t, err, "no AWS credentials found; set AWS_ACCESS_KEY_ID")
}
