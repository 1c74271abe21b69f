package upload

import (
	"encoding/pem"
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

// A protocol that is not the server's is named, not the SDK's words around it.
func TestExplainTLS(t *testing.T) {
	plain, secure := httptest.NewServer(http.NotFoundHandler()), httptest.NewTLSServer(http.NotFoundHandler())
	defer plain.Close()
	defer secure.Close()
	for address, want := range map[string]string{
		strings.Replace(plain.URL, "http:", "https:", 1): "there: the server there does not speak TLS; want http:// in place of https://, or another port",
		secure.URL: "there: its certificate is not trusted; AWS_CA_BUNDLE names a file with others: x509: certificate signed by unknown authority",
	} {
		_, err := http.Get(address)
		require.Error(t, err)
		assert.EqualError(t, explain("there", err), want)
	}
}
