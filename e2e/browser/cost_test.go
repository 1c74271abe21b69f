//go:build unix

package browser

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/live"
)

// role, in the environment, makes the test binary the program whose page is looked at.
const role = "LIVE_ROLE"

func init() {
	if os.Getenv(role) != "" {
		os.Exit(serveAlone())
	}
}

// serveAlone serves a limiter's page until its standard input ends, in a process of its
// own: this one is busy with what the browser says of the page.
func serveAlone() int {
	l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", live.Handler(live.Of(l)))
	mux.HandleFunc("/cpu", func(w http.ResponseWriter, _ *http.Request) {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err)
		}
		_, _ = fmt.Fprint(w, u.Utime.Nano()+u.Stime.Nano())
	})
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	mux.HandleFunc("/bare", bare)
	fmt.Printf("http://%s/\n", at.Addr())
	go func() { _ = http.Serve(at, mux) }()
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// start starts the program and returns its address.
func start(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=alone")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// bare tells its client as much as a page is told, and as often, and does nothing else:
// what it costs to wake up and to write, which differs by a hundred times between
// machines.
func bare(w http.ResponseWriter, r *http.Request) {
	data := bytes.Repeat([]byte("."), 300)
	for tick := time.Tick(250 * time.Millisecond); ; {
		_, _ = w.Write(data)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-tick:
		case <-r.Context().Done():
			return
		}
	}
}

// The time that a program spends on an open page is below a thousandth of a core, that
// of waking up four times a second not counted.
func TestAnOpenPageCostsNextToNothing(t *testing.T) {
	url := start(t)
	b := browse(t, url)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	cpu := func() time.Duration {
		resp, err := client.Get(url + "cpu")
		require.NoError(t, err)
		defer func() { require.NoError(t, resp.Body.Close()) }()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		n, err := strconv.ParseInt(string(text), 10, 64)
		require.NoError(t, err)
		return time.Duration(n)
	}
	const span = 4 * time.Second
	spent := func() time.Duration {
		before := cpu()
		time.Sleep(span)
		return cpu() - before
	}
	soon(t, span/1000, func() time.Duration {
		b.do(chromedp.Navigate(url))
		b.until(drawn)
		page := spent()
		b.do(chromedp.Navigate("about:blank"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"bare", nil)
		require.NoError(t, err)
		resp, err := client.Do(r)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		least := spent()
		t.Logf("a page: %v in %v, a bare stream: %v", page, span, least)
		return page - least
	})
}
