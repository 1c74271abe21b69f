package remote_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/remote"
	"github.com/aimd-go/aimd/tag"
)

// counted returns a server that counts its requests.
func counted(t *testing.T) (*httptest.Server, *atomic.Int64) {
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	return server, &n
}

// closed is a body that remembers whether it was closed.
type closed struct {
	io.Reader
	closed bool
}

func (c *closed) Close() error { c.closed = true; return nil }

func TestTransportSendsNothingOfAFeatureThatIsOff(t *testing.T) {
	server, n := counted(t)
	var f remote.Features
	lim, err := aimd.NewReno()
	require.NoError(t, err)
	client := &http.Client{Transport: f.Transport(httplimit.New(server.Client().Transport, lim))}
	defer client.CloseIdleConnections()
	send := func(feature string) (*closed, error) {
		body := &closed{Reader: strings.NewReader("hello")}
		req, err := http.NewRequestWithContext(tag.WithFeature(t.Context(), feature), http.MethodPost, server.URL, body)
		require.NoError(t, err)
		resp, err := client.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return body, err
	}
	_, err = send("thumbnails")
	require.NoError(t, err)

	f.Apply(off("thumbnails"))
	attempts := lim.Snapshot().Attempts()
	body, err := send("thumbnails")
	require.ErrorIs(t, err, remote.ErrFeatureOff)
	require.True(t, body.closed, "a RoundTripper always closes the body")
	require.Equal(t, attempts, lim.Snapshot().Attempts(), "not even a slot")
	_, err = send("upload")
	require.NoError(t, err)
	require.EqualValues(t, 2, n.Load())

	f.Apply(off())
	_, err = send("thumbnails")
	require.NoError(t, err)
}

func TestTransportUsesTheDefaultOne(t *testing.T) {
	server, n := counted(t)
	var f remote.Features
	client := &http.Client{Transport: f.Transport(nil)}
	resp, err := client.Get(server.URL)
	require.NoError(t, err)
	resp.Body.Close()
	require.EqualValues(t, 1, n.Load())
	client.CloseIdleConnections()
	http.DefaultClient.CloseIdleConnections()
	_, err = f.Transport(roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.ErrUnsupported })).RoundTrip(&http.Request{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
