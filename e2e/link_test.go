//go:build unix

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// link carries the bodies of requests to a store, so many bytes a second over all of them, and refuses none.
type link struct {
	*httptest.Server
	perSecond float64

	mu sync.Mutex
	// free is the time from which it can carry more; it has inFlight requests with a body, and had most at a time.
	free           time.Time
	inFlight, most int
}

func startLink(t *testing.T, to string, perSecond float64) *link {
	t.Helper()
	l := &link{perSecond: perSecond}
	store := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: to})
		r.Out.Host = r.In.Host // which the client signed
		if r.Out.ContentLength > 0 {
			r.Out.Body = carried{r.Out.Body, l}
		}
	}}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 0 {
			l.enter(1)
			defer l.enter(-1)
		}
		store.ServeHTTP(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *link) enter(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight += n
	l.most = max(l.most, l.inFlight)
}

// carry takes the time of n bytes, after those that came before them.
func (l *link) carry(n int) {
	l.mu.Lock()
	if now := time.Now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(n) / l.perSecond * float64(time.Second)))
	wait := time.Until(l.free)
	l.mu.Unlock()
	time.Sleep(wait)
}

// carried is a body that comes over a link.
type carried struct {
	io.ReadCloser
	link *link
}

func (c carried) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p[:min(len(p), 16<<10)])
	c.link.carry(n)
	return n, err
}

// A directory goes up over a line of 10 MB a second, to a store that takes all that comes. Two in flight use the line
// up, and the others only wait for it. No hand-tuned number is faster than the line.
func TestUploadOverALine(t *testing.T) {
	beside(t)
	const size, perSecond = 1_000_000, 10_000_000
	files := amount(2000, 100)
	dir := t.TempDir()
	for i := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), body(i, size), 0o600))
	}
	over := func(t *testing.T, law string) (cost, int) {
		ctx := begin(t)
		g := startGateway(t, noCap)
		steward(ctx, t, g.address)
		l := startLink(t, g.address, perSecond)
		cmd := uploadCommand(t, dir, "", strings.TrimPrefix(l.URL, "http://"), "--law", law)
		began := time.Now()
		p := startProcess(t, cmd)
		require.NoError(t, p.cmd.Wait())
		took := time.Since(began)
		require.Len(t, g.files(t), files)
		got := cost{span: ratio(took, time.Second*time.Duration(files*size)/perSecond), attempts: float64(g.counts(t).Served) / float64(files)}
		figures.log(t, "%s: %v, %v, most in flight %d", law, got, took.Round(10*time.Millisecond), l.most)
		return got, l.most
	}
	attempt(t, func(t *testing.T) bool {
		got, most := over(t, "probe")
		return got.within(cost{span: 1.03, attempts: 1}.eased()) && most <= 64
	})
	if earnest() {
		over(t, "reno")
	}
}
