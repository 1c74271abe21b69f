package browser

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/proof/e2e/internal/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves a page below a prefix and returns its address.
func serve(t *testing.T, page http.Handler) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/debug/aimd/", page)
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		_ = s.Config.Shutdown(context.Background())
		s.Close()
	})
	return s.URL + "/debug/aimd/"
}

// flags are for a machine that reaches nothing but itself.
var flags = []chromedp.ExecAllocatorOption{
	chromedp.NoSandbox, chromedp.DisableGPU,
	chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
	chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
}

// tab is a page in a browser of its own, and what it wrote to its console.
type tab struct {
	t       *testing.T
	ctx     context.Context
	mu      sync.Mutex
	console []string
}

// browse opens an address in a browser of its own.
func browse(t *testing.T, url string) *tab {
	t.Helper()
	options := append(append(chromedp.DefaultExecAllocatorOptions[:], flags...), chromedp.ExecPath(program.Path(t, "chromium", "chromium")), chromedp.UserDataDir(t.TempDir()))
	bound, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	allocator, end := chromedp.NewExecAllocator(bound, options...)
	ctx, quit := chromedp.NewContext(allocator)
	b := &tab{t: t, ctx: ctx}
	var listening sync.WaitGroup
	t.Cleanup(func() {
		require.Empty(t, b.said(), "the console, which tells of breaches of the policy too")
		_ = chromedp.Cancel(ctx)
		quit()
		end()
		cancel()
		listening.Wait()
	})
	b.do(chromedp.EmulateViewport(1400, 900))
	console := chromedp.Console(ctx)
	listening.Go(func() {
		for m, err := range console {
			if err != nil {
				return
			}
			b.mu.Lock()
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException {
				b.console = append(b.console, m.Text)
			}
			b.mu.Unlock()
		}
	})
	b.do(chromedp.Navigate(url))
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, steps...))
}

// run is what a script comes to, in the page.
func run[T any](b *tab, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, script)
	return v
}

// until waits until a script comes to true, and returns how long that took.
func (b *tab) until(script string) time.Duration {
	b.t.Helper()
	began := time.Now()
	for !run[bool](b, script) {
		require.Less(b.t, time.Since(began), time.Minute, "%s\nconsole: %v\npage: %s", script, b.said(),
			run[string](b, `document.body.innerText`))
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(began)
}

// said are the errors on the console: of the script, and of the policy.
func (b *tab) said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.console
}

// picture is what the page looks like.
func (b *tab) picture(scheme string, width int64) image.Image {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(b.t, err)
	b.do(chromedp.EmulateViewport(width, 900))
	// Two frames: the one that was under way, and the one after it.
	run[bool](b, `new Promise(r => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(() => r(true))), 300))`)
	shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	require.NoError(b.t, err)
	picture, err := png.Decode(bytes.NewReader(shot))
	require.NoError(b.t, err)
	return picture
}

// play runs so many callers through a limiter, until the test ends, against a service
// that takes 24 at a time, and for four seconds none, so that several cuts come in a row.
func play(t *testing.T, l *aimd.Limiter, callers int) {
	var all sync.WaitGroup
	t.Cleanup(all.Wait) // the test's context has ended by then
	var flying atomic.Int64
	began := time.Now()
	work := func(context.Context) error {
		defer flying.Add(-1)
		away := time.Since(began) > time.Second && time.Since(began) < 5*time.Second
		if n := flying.Add(1); n > 24 || away {
			time.Sleep(10 * time.Millisecond)
			refused := &httplimit.StatusError{StatusCode: http.StatusServiceUnavailable}
			if away {
				refused.Header = http.Header{"Retry-After": {"1"}}
			}
			return refused
		}
		time.Sleep(60 * time.Millisecond)
		return nil
	}
	for range callers {
		all.Go(func() {
			for t.Context().Err() == nil {
				_ = l.Do(t.Context(), work) // it ends with the context
			}
		})
	}
}
