package reach_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
)

func TestEndpoint(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	require.NoError(t, reach.Endpoint(t.Context(), s.URL), "whatever it would answer")
	s.Close()
	require.ErrorContains(t, reach.Endpoint(t.Context(), s.URL), "refused")
	require.Error(t, reach.Endpoint(t.Context(), "http://[::1"))
}
