package upload

import (
	"encoding/pem"
	"io"
	"log"
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

// A server without TLS, and one whose certificate is not trusted, are named in one line, without
// the SDK's words around it.
func TestTheReasonOfTLSIsNamed(t *testing.T) {
	w := newWorld(t)
	secure := httptest.NewTLSServer(w.Next)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer secure.Close()
	for endpoint, want := range map[string]string{
		strings.Replace(w.URL, "http:", "https:", 1): "http: server gave HTTP response to HTTPS client",
		secure.URL: "x509: certificate signed by unknown authority",
	} {
		o := w.run(func(c *Config) { c.Endpoint = endpoint })
		assert.EqualError(t, o.err, "--endpoint "+endpoint+": "+want)
	}
}
