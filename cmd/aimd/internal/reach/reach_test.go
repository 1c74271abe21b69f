package reach_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
)

func TestS3(t *testing.T) {
	clitest.AWS(t)
	cfg, err := reach.S3(t.Context(), "http://127.0.0.1:1", time.Minute)
	require.NoError(t, err)
	assert.Equal(t, "us-east-1", cfg.Region)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = reach.S3(ended, "http://127.0.0.1:1", time.Minute)
	require.ErrorIs(t, err, context.Canceled)
	_, err = reach.S3(t.Context(), "", time.Minute)
	require.ErrorContains(t, err, "no AWS region found")
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
		assert.EqualError(t, reach.Explain("there", time.Second, err), want)
	}
}
