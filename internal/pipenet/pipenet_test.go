package pipenet_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/internal/pipenet"
)

// A service time of an hour takes no time.
func TestHTTPOnVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, "hello")
		})}
		go func() { _ = s.Serve(l) }()
		tr := &http.Transport{DialContext: l.DialContext}
		began := time.Now()
		for range 2 {
			resp, err := (&http.Client{Transport: tr}).Get("http://any.example/")
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, "hello", string(body))
		}
		require.Equal(t, 2*time.Hour, time.Since(began))
		tr.CloseIdleConnections()
		require.NoError(t, s.Close())
		_, err := l.DialContext(t.Context(), "", "")
		require.ErrorIs(t, err, net.ErrClosed)
	})
}

func TestTheContextEndsTheDial(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := pipenet.Listen().DialContext(ctx, "", "")
	require.ErrorIs(t, err, context.Canceled)
}
