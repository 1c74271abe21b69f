package livepage

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
	"github.com/aimd-go/aimd/live"
)

// serve serves a page and returns it with its address.
func serve(t *testing.T) (*Page, string) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetErr(&stderr)
	p, err := Serve(cmd, true)
	require.NoError(t, err)
	require.Regexp(t, `^live: http://127\.0\.0\.1:\d+/\n$`, stderr.String())
	return p, strings.TrimSpace(strings.TrimPrefix(stderr.String(), "live: "))
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	res, err := http.Get(url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	require.Equal(t, http.StatusOK, res.StatusCode)
	return res
}

func TestPage(t *testing.T) {
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t)
	})
	p, url := serve(t)
	body, err := io.ReadAll(get(t, url).Body)
	require.NoError(t, err)
	assert.Contains(t, string(body), "<title>")

	lim, err := aimd.New(aimd.Config{Name: "the one at work"})
	require.NoError(t, err)
	defer lim.Close()
	p.Add("another name", lim, nil)
	clitest.Shows(t, "live: "+url+"\n", `"name":"the one at work"`)

	looked := make(chan bool)
	var once sync.Once
	p.Add("without", nil, func() live.Flow { once.Do(func() { close(looked) }); return live.Flow{InFlight: 7} })
	select {
	case <-looked:
	case <-time.After(20 * time.Second):
		require.Fail(t, "nobody looks, so who comes later sees nothing of it")
	}
	clitest.Shows(t, "live: "+url+"\n", `"name":"without"`)

	p.Stay(t.Context()) // there is no terminal
	p.Close()
	_, err = http.Get(url)
	assert.Error(t, err)
}

func TestNoPage(t *testing.T) {
	p, err := Serve(&cobra.Command{}, false)
	require.NoError(t, err)
	p.Add("", nil, nil)
	p.Stay(t.Context())
	p.Close()
}

func TestStaysUntilInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	stderr := writer(func(b []byte) { // the only thing that it writes
		assert.Equal(t, "live: the page stays until Ctrl-C\n", string(b))
		interrupt()
	})
	p := &Page{watched: true, stderr: stderr}
	p.Stay(ctx)
	p.Stay(ctx) // or it would write again
	assert.Error(t, ctx.Err())
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }
