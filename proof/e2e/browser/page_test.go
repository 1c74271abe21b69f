package browser

import (
	"errors"
	"fmt"
	"image"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	cdpbrowser "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/live"
	"github.com/aimd-go/aimd/window"
)

func reno(t *testing.T, config aimd.Config) *aimd.Limiter {
	t.Helper()
	if config.Law == nil {
		config.Law = aimd.Reno(0.5)
	}
	l, err := aimd.New(config)
	require.NoError(t, err)
	return l
}

// soon runs what measures a time up to three times: other work on the machine makes no page slow permanently.
// Without E2E_QUIET the machine may be half as fast.
func soon(t *testing.T, within time.Duration, measure func() time.Duration) {
	t.Helper()
	if os.Getenv("E2E_QUIET") == "" {
		within *= 2
	}
	var took time.Duration
	for range 3 {
		if took = measure(); took <= within {
			t.Logf("took %v", took)
			return
		}
	}
	require.LessOrEqual(t, took, within)
}

// drawn is a script: the window's chart has something of the window's colour in it.
const drawn = `(() => {
	const c = document.querySelector('#c-window'), d = document.createElement('canvas').getContext('2d');
	d.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--cwnd');
	d.fillRect(0, 0, 1, 1);
	const [r, g, b] = d.getImageData(0, 0, 1, 1).data;
	if (!c?.width || !c.clientWidth) return false;
	const p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
	for (let i = 0; i < p.length; i += 4) if (p[i] === r && p[i + 1] === g && p[i + 2] === b && p[i + 3] === 255) return true;
	return false;
})()`

func TestTheFirstPointComesWithinASecond(t *testing.T) {
	b := browse(t, serve(t, live.Handler(live.Of(reno(t, aimd.Config{Name: "photos"})))))
	soon(t, time.Second, func() time.Duration {
		b.do(chromedp.Reload())
		b.until(drawn)
		return time.Duration(run[float64](b, `performance.now()`) * float64(time.Millisecond)) // since it began to load
	})
	require.Equal(t, "photos", run[string](b, `document.querySelector('#name').textContent`))
	require.Equal(t, "20", run[string](b, `document.querySelector('#t-cwnd').textContent`))
	require.Equal(t, "idle", run[string](b, `document.querySelector('#text').textContent`))
}

func TestA503IsSeenAsACutWithinASecond(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer service.Close()
	l := reno(t, aimd.Config{InitialWindow: 64})
	b := browse(t, serve(t, live.Handler(live.Of(l))))
	b.until(drawn)
	client := &http.Client{Transport: &httplimit.Transport{Limiter: l}}
	defer client.CloseIdleConnections()
	cuts := 0
	soon(t, time.Second, func() time.Duration {
		resp, err := client.Get(service.URL)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		cuts++
		return b.until(`[...document.querySelectorAll('#decisions li')].filter(l => l.textContent.includes('cut first refusal of a burst')).length === ` + strconv.Itoa(cuts))
	})
	require.Contains(t, run[string](b, `document.querySelector('#decisions').textContent`), "64\u00a0→\u00a032")
}

// busy keeps a limiter at more than ten thousand events a second until the test ends.
func busy(t *testing.T, l *aimd.Limiter) {
	var all sync.WaitGroup
	t.Cleanup(all.Wait) // the test's context has ended by then
	all.Go(func() {
		for range time.Tick(5 * time.Millisecond) {
			if t.Context().Err() != nil {
				return
			}
			for n := range 100 {
				switch p, ok := l.TryAcquire(); {
				case ok && n%40 == 0:
					p.End(aimd.Refused(errors.New("busy")))
				case ok:
					p.End(nil)
				}
			}
		}
	})
}

func TestTenThousandEventsASecondDoNotFreezeIt(t *testing.T) {
	l := reno(t, aimd.Config{InitialWindow: 200})
	b := browse(t, serve(t, live.Handler(live.Of(l))))
	b.until(drawn)
	run[bool](b, `(s => { s.value = '100ms'; s.dispatchEvent(new Event('change')); return true })(document.querySelector('#every'))`)
	busy(t, l)
	soon(t, 500*time.Millisecond, func() time.Duration {
		before := l.Snapshot().Attempts
		// The longest time between two frames within three seconds.
		longest := run[float64](b, `new Promise(done => {
			let last = performance.now(), longest = 0, end = last + 3000;
			requestAnimationFrame(function frame(now) {
				longest = Math.max(longest, now - last);
				last = now;
				now < end ? requestAnimationFrame(frame) : done(longest);
			});
		})`)
		if events := l.Snapshot().Attempts - before; events < 30_000 {
			t.Logf("the machine is busy: %d events in three seconds", events)
			return time.Minute
		}
		return time.Duration(longest * float64(time.Millisecond))
	})
	b.until(`document.querySelector('#decisions').textContent.includes('cut first refusal of a burst, ')`)
	b.until(`parseInt(document.querySelector('#t-accepted').textContent.replace(',', '')) > 9000`)
	require.LessOrEqual(t, run[int](b, `document.querySelectorAll('#decisions li').length`), 150)
}

// jumps is a law that makes its window four times as large at once.
type jumps struct{}

func (jumps) Timed() bool { return false }

func (jumps) Answered(_ time.Duration, s window.State, a window.End) window.State {
	if a.Outcome == window.Success {
		s.Cwnd *= 4
	}
	return s
}

// A window that goes up at once has a mark and a word of its own: it was called "shrank".
func TestAJumpUpwardIsNoFall(t *testing.T) {
	t.Parallel()
	l := reno(t, aimd.Config{Law: func(window.Settings) window.Law { return jumps{} }, InitialWindow: 8})
	for n := range 8 { // a law learns of a success if the window is the limit
		p, ok := l.TryAcquire()
		require.True(t, ok)
		if n == 7 {
			p.End(nil)
		}
	}
	b := browse(t, serve(t, live.Handler(live.Of(l))))
	b.until(`[...document.querySelectorAll('#decisions li')].some(l => l.dataset.kind === 'grew' && l.textContent.includes('8\u00a0→\u00a032'))`)
	require.Zero(t, run[int](b, `document.querySelectorAll('#decisions [data-k=shrank]').length`))
}

// In shadow what is refused above the window changes nothing: it had the sign of a cut, a pause that there was not was called
// one, and each decision "shadow".
func TestInShadowThePageSaysWhatWouldBe(t *testing.T) {
	t.Parallel()
	l := reno(t, aimd.Config{InitialWindow: 1, Shadow: true})
	for range 3 { // the smallest window stays as it is
		p, ok := l.TryAcquire()
		require.True(t, ok)
		p.End(aimd.Refused(errors.New("busy")))
	}
	b := browse(t, serve(t, live.Handler(live.Of(l))))
	b.until(`[...document.querySelectorAll('#decisions li')].some(l => l.dataset.kind === 'kept')`)
	require.Equal(t, "\"\u25AC\"", run[string](b, `getComputedStyle(document.querySelector('#decisions [data-k=kept]'), '::before').content`))
	require.Equal(t, "shadow: cut", run[string](b, `document.querySelector('#decisions li[data-kind=kept] b').textContent`))
	require.Zero(t, run[int](b, `document.querySelectorAll('#decisions [data-k=cut]').length`))
}

func TestHostileNamesAreTexts(t *testing.T) {
	t.Parallel()
	hostile := "<img src=x onerror=\"document.title='hacked'\">\u202e<script>document.title='hacked'</script>"
	b := browse(t, serve(t, live.Handler(live.Of(reno(t, aimd.Config{Name: hostile}), reno(t, aimd.Config{Name: "b"})))))
	b.until(`document.querySelectorAll('#rows tr').length === 2`)
	require.Equal(t, hostile, run[string](b, `document.querySelector('#rows button').textContent`))
	require.Equal(t, hostile, run[string](b, `document.querySelector('#name').textContent`))
	require.Equal(t, "aimd live", run[string](b, `document.title`))
	require.Zero(t, run[int](b, `document.querySelectorAll('main img, main script').length`))
}

func TestTheKeyboardReachesAllOfIt(t *testing.T) {
	t.Parallel()
	all := []*aimd.Limiter{reno(t, aimd.Config{Name: "a"}), reno(t, aimd.Config{Name: "b", InitialWindow: 64})}
	for _, l := range all {
		p, ok := l.TryAcquire()
		require.True(t, ok)
		p.End(aimd.Refused(errors.New("busy")))
	}
	b := browse(t, serve(t, live.Handler(live.Of(all...))))
	b.until(drawn)
	reached := map[string]bool{}
	for range 14 {
		b.do(chromedp.KeyEvent(kb.Tab))
		reached[run[string](b, `(e => e.id || e.name || e.textContent.slice(0, 20))(document.activeElement)`)] = true
		if run[bool](b, `document.activeElement.textContent === 'b'`) {
			b.do(chromedp.KeyEvent(kb.Enter))
		}
	}
	for _, what := range []string{"range", "every", "freeze", "save", "a", "b", "charts", "decisions"} {
		require.True(t, reached[what], "%s is not reached: %v", what, reached)
	}
	b.until(`document.querySelector('#name').textContent === 'b' && document.querySelector('#decisions').textContent.includes('64\u00a0→\u00a032')`)
	run[bool](b, `document.querySelector('#charts').focus() ?? true`)
	b.do(chromedp.KeyEvent(kb.ArrowUp)) // up: the latest decision
	b.until(`document.querySelector('#readout').textContent.includes('cut: first refusal of a burst')`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`document.querySelector('#readout').textContent === ''`)
}

// In a race the page shows who runs, until somebody picks one.
func TestThePageFollowsWhoIsAtWork(t *testing.T) {
	t.Parallel()
	a, b := reno(t, aimd.Config{Name: "a"}), reno(t, aimd.Config{Name: "b"})
	page := browse(t, serve(t, live.Handler(live.Of(a, b, reno(t, aimd.Config{Name: "c"})))))
	page.until(`document.querySelector('#name').textContent === 'a'`)
	a.Close()
	page.until(`document.querySelector('#name').textContent === 'b'`)
	page.do(chromedp.Click("#rows tr:nth-child(2) button"))
	b.Close()
	page.until(`document.querySelector('#text').textContent === 'closed'`)
	require.Equal(t, "b", run[string](page, `document.querySelector('#name').textContent`))
}

// The share of a fleet: how much, of how many processes, who leads, and how long the store has been silent.
func TestThePageShowsAShare(t *testing.T) {
	t.Parallel()
	l := reno(t, aimd.Config{Name: "a"})
	page := browse(t, serve(t, live.Handler(live.Of(l))))
	page.until(`document.querySelector('#name').textContent === 'a' && document.querySelector('#share').hidden`)
	share := aimd.Share{Mode: "silent", Window: 2.5, Processes: 30, Leads: true, Heard: time.Now().Add(-time.Minute)}
	require.NoError(t, l.Follow(share, window.State{}, limiter.Part{}, nil))
	page.until(`!document.querySelector('#share').hidden`)
	require.Equal(t, "2.5", run[string](page, `document.querySelector('#t-share').textContent`))
	require.Regexp(t, `^silent, 30 processes, leads, store silent 6\d s$`, run[string](page, `document.querySelector('#t-fleet').textContent`))
}

func TestAScreenReaderHasANameForEverything(t *testing.T) {
	t.Parallel()
	b := browse(t, serve(t, live.Handler(live.Of(reno(t, aimd.Config{Name: "a"}), reno(t, aimd.Config{Name: "b"})))))
	b.until(drawn)
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(t, err)
	seen := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role := string(n.Role.Value)
		switch role {
		case `"button"`, `"radio"`, `"combobox"`, `"image"`, `"link"`, `"columnheader"`, `"region"`:
			require.NotNil(t, n.Name, role)
			require.Greater(t, len(n.Name.Value), 2, "%s has no name", role)
			seen[role]++
		}
	}
	require.GreaterOrEqual(t, seen[`"button"`], 4, "%v", seen)
	require.GreaterOrEqual(t, seen[`"image"`], 3, "%v", seen)
	require.Equal(t, 3, seen[`"radio"`])
	b.until(`document.querySelector('#spoken').textContent === 'a: idle'`)
}

func TestASavedPageWorksFromAFile(t *testing.T) {
	t.Parallel()
	name := "</script><!--<script>&amp;"
	l := reno(t, aimd.Config{Name: name})
	p, ok := l.TryAcquire()
	require.True(t, ok)
	p.End(aimd.Refused(errors.New("busy")))
	b := browse(t, serve(t, live.Handler(live.Of(l))))
	b.until(drawn)
	dir := t.TempDir()
	_, err := chromedp.CallBrowser(b.ctx, cdpbrowser.SetDownloadBehavior, cdpbrowser.SetDownloadBehaviorParams{Behavior: "allow", DownloadPath: dir})
	require.NoError(t, err)
	b.do(chromedp.Click("#save"))
	b.until(`document.querySelector('#spoken').textContent.startsWith('Saved as aimd-')`)
	var saved []string
	for deadline := time.Now().Add(20 * time.Second); len(saved) == 0; time.Sleep(10 * time.Millisecond) {
		require.Less(t, time.Now(), deadline)
		saved, err = filepath.Glob(filepath.Join(dir, "*.html"))
		require.NoError(t, err)
	}
	b.do(chromedp.Navigate("file://" + saved[0]))
	b.until(drawn)
	require.Equal(t, name, run[string](b, `document.querySelector('#name').textContent`))
	require.Equal(t, "saved", run[string](b, `document.querySelector('#link').dataset.state`))
	require.Contains(t, run[string](b, `document.querySelector('#decisions').textContent`), "cut first refusal of a burst, 20\u00a0→\u00a010")
	require.Zero(t, run[int](b, `document.querySelectorAll('link, script[src]').length`))
}

func TestItFitsEveryScreenLightAndDark(t *testing.T) {
	t.Parallel()
	l := reno(t, aimd.Config{Name: "api.example.com:443", Law: aimd.Reno(0.7)})
	other := reno(t, aimd.Config{Name: "a name so long that no telephone has the room for it", MaxWindow: 20})
	b := browse(t, serve(t, live.Handler(live.Of(l, other, reno(t, aimd.Config{Name: "nobody"})))))
	play(t, l, 60)
	play(t, other, 30)
	b.until(`document.querySelector('#decisions').textContent.includes('the service asked for 1s')`)
	for _, width := range []int64{400, 760, 1080, 2000} {
		for _, scheme := range []string{"light", "dark"} {
			picture := b.picture(scheme, width)
			require.LessOrEqual(t, run[int64](b, `document.documentElement.scrollWidth`), width, "it does not scroll sideways")
			require.Equal(t, scheme == "dark", luma(picture) < 0.5, "%s at %d: %.2f", scheme, width, luma(picture))
			for _, column := range []string{"Name", "Window", "Queued", "Refused /s"} {
				require.True(t, run[bool](b, `[...document.querySelectorAll('th')].some(th => th.textContent === '`+column+`' && th.checkVisibility())`), "%s at %d", column, width)
			}
			b.until(`document.querySelector('#rows tr').innerText.includes(limiters.values().next().value.a)`)
			for _, c := range []struct {
				name string
				want float64
			}{{"ink", 7}, {"soft", 4.5}, {"cwnd", 4.5}, {"ssthresh", 4.5}, {"accepted", 4.5}, {"refused", 4.5}, {"queued", 4.5}, {"paused", 4.5}, {"flight", 3}} {
				require.Greater(t, run[float64](b, contrast(c.name)), c.want, "contrast of %s, %s", c.name, scheme)
			}
		}
	}
}

// luma is how bright a picture is on average, 0 to 1.
func luma(m image.Image) float64 {
	sum, n := 0.0, 0.0
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y += 7 {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x += 7 {
			r, g, b, _ := m.At(x, y).RGBA()
			sum += (0.2126*float64(r) + 0.7152*float64(g) + 0.0722*float64(b)) / 0xffff
			n++
		}
	}
	return sum / n
}

// contrast is a script: that of a colour and a card's, after WCAG 2.2.
func contrast(name string) string {
	return `(() => {
		const style = getComputedStyle(document.documentElement), g = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
		const [a, b] = ['--` + name + `', '--card'].map(n => {
			g.fillStyle = style.getPropertyValue(n);
			g.fillRect(0, 0, 1, 1);
			const [r, gr, bl] = [...g.getImageData(0, 0, 1, 1).data].map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
			return 0.2126 * r + 0.7152 * gr + 0.0722 * bl + 0.05;
		});
		return Math.max(a, b) / Math.min(a, b);
	})()`
}

// A client without a limiter is compared with one; when all have ended, what there was
// stays in sight.
func TestWhatHasEndedStaysInSight(t *testing.T) {
	l := reno(t, aimd.Config{Name: "photos"})
	var mu sync.Mutex
	now := live.Flow{InFlight: 7, Accepted: 3, Refused: 2}
	b := browse(t, serve(t, live.Compare(live.Of(l), func() iter.Seq2[string, live.Flow] {
		mu.Lock()
		defer mu.Unlock()
		return maps.All(map[string]live.Flow{"plain": now})
	})))
	b.until(drawn)
	run[any](b, `document.querySelector('#rows tr:nth-child(2) button').click()`)
	b.until(`document.querySelector('#text').textContent === 'unlimited'`)
	require.False(t, run[bool](b, `document.querySelector('#t-cwnd').checkVisibility()`), "there is no window")
	require.Equal(t, "–", run[string](b, `document.querySelectorAll('#rows tr')[1].children[2].textContent`))

	l.Close()
	mu.Lock()
	now.InFlight, now.Ended = 0, true
	mu.Unlock()
	b.until(`[...limiters.values()].every(over) && document.querySelector('#name').textContent === 'plain'`)
	at := run[float64](b, `view.now`)
	b.until(fmt.Sprintf(`view.heard > %f + 1000`, at))
	require.Equal(t, at, run[float64](b, `view.now`), "time stands still")
}
