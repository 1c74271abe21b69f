package upload

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A store that does not know checksums gets the content, and nothing else, over TLS too.
func TestOverTLS(t *testing.T) {
	w := newWorld(t)
	w.write("a", "content")
	w.write("empty", "")
	content := random(large)
	w.write("large", content)
	s := httptest.NewTLSServer(w.Next)
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	t.Setenv("AWS_CA_BUNDLE", ca)
	for _, sum := range checksums {
		o := w.run(func(c *Config) { c.Endpoint, c.Checksum, c.Force = s.URL, sum, true })
		require.NoError(t, o.err, sum)
		assert.Equal(t, map[string]string{"p/a": "content", "p/empty": "", "p/large": content}, w.stored(), sum)
	}
}

// The first request ends in one line that says what is wrong, and how to mend it.
func TestWhatIsWrongAtTheStart(t *testing.T) {
	w := newWorld(t)
	secure := httptest.NewTLSServer(w.Next)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer secure.Close()
	closing := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	closing.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer closing.Close()
	const credentials = "the credentials are refused; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or AWS_PROFILE, and the clock: "
	for name, c := range map[string]struct {
		endpoint string
		status   int
		code     string
		want     string
	}{
		"nothing listens":     {"http://127.0.0.1:1", 0, "", "no store answers there; want another host or port: connection refused"},
		"closes":              {closing.URL, 0, "", "no store answers there; want another host or port: EOF"},
		"https to http":       {strings.Replace(w.URL, "http:", "https:", 1), 0, "", "the server there does not speak TLS; want http:// in place of https://, or another port: "},
		"http to https":       {strings.Replace(secure.URL, "https:", "http:", 1), 0, "", "the server there may speak TLS only; want https:// in place of http://, or another port: "},
		"another certificate": {secure.URL, 0, "", "its certificate is not trusted; AWS_CA_BUNDLE names a file with further certificates: x509: "},
		"no bucket":           {w.URL, 404, "NoSuchBucket", "there is no bucket bucket; make it first: NoSuchBucket: "},
		"no right to list":    {w.URL, 403, "AccessDenied", "the credentials do not allow to list bucket bucket, to skip what is there; --force uploads without: api error AccessDenied: "},
		"another key":         {w.URL, 403, "InvalidAccessKeyId", credentials + "api error InvalidAccessKeyId: "},
		"another secret":      {w.URL, 403, "SignatureDoesNotMatch", credentials + "api error SignatureDoesNotMatch: "},
		"an old token":        {w.URL, 400, "ExpiredToken", credentials + "api error ExpiredToken: "},
		"no key":              {w.URL, 401, "Unauthorized", credentials + "api error Unauthorized: "},
		"signed for another":  {w.URL, 400, "AuthorizationHeaderMalformed", "the bucket is in another region; set AWS_REGION: api error AuthorizationHeaderMalformed: "},
		"another region":      {w.URL, 301, "PermanentRedirect", "the bucket is in another region; set AWS_REGION: api error PermanentRedirect: "},
		"anything else":       {w.URL, 400, "InvalidRequest", "api error InvalidRequest: "},
	} {
		w.set(func(rw http.ResponseWriter, r *http.Request) bool { return deny(rw, r, c.status, c.code) })
		o := w.run(func(x *Config) { x.Endpoint = c.endpoint })
		require.Error(t, o.err, name)
		said, begins := strings.CutPrefix(o.err.Error(), "--endpoint "+c.endpoint+": "+c.want)
		assert.True(t, begins, "%s: %v", name, o.err)
		assert.NotContains(t, said, "StatusCode", name)
	}
}
