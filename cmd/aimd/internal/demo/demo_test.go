package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/race"
	"github.com/aimd-go/aimd/cmd/aimd/internal/livepage"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

// aimd runs a command line in an empty directory.
func aimd(t *testing.T, args ...string) clitest.Outcome {
	t.Helper()
	return clitest.Run(t, []*cobra.Command{Command()}, args...)
}

// tiny are flags for a run of no time.
func tiny(args ...string) []string {
	return append([]string{"demo", "--objects", "20", "--size", "1KiB", "--goroutines", "4", "--slots", "4", "--service", "1ms"}, args...)
}

func tinyAPI(args ...string) []string {
	return append([]string{"demo", "api", "--requests", "20", "--workers", "4", "--rate", "100000", "--burst", "1000", "--service", "1ms"}, args...)
}

func TestJSON(t *testing.T) {
	for name, c := range map[string]struct {
		args       []string
		strategies []string
	}{
		"demo":         {tiny("--json"), []string{"sdk-default", "backoff", "sdk-adaptive", "probe", "tahoe", "reno"}},
		"demo, rivals": {tiny("--json", "--only", "backoff-1s,backoff-v5"), []string{"backoff-v5", "backoff-1s"}},
		"demo, chosen": {tiny("--json", "--only", "reno,tahoe"), []string{"tahoe", "reno"}},
		"demo api":     {tinyAPI("--json"), []string{"plain", "backoff", "probe", "tahoe", "reno"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := aimd(t, append(c.args, "--price", "0.5")...)
			require.Zero(t, got.Status, got.Stderr)
			var strategies []string
			for line := range strings.Lines(got.Stdout) {
				var row map[string]any
				require.NoError(t, json.Unmarshal([]byte(line), &row), line)
				var keys []string
				for k := range row {
					keys = append(keys, k)
				}
				assert.ElementsMatch(t, []string{"strategy", "factor", "operations", "attempts", "refused", "lost", "makespan_s", "optimum_s", "p99_s", "cpu_s", "price"}, keys)
				strategy := row["strategy"].(string)
				strategies = append(strategies, strategy)
				assert.Equal(t, 20.0, row["operations"])
				assert.Equal(t, 20.0, row["attempts"])
				assert.Zero(t, row["lost"])
				assert.Zero(t, row["refused"])
				assert.Positive(t, row["optimum_s"])
				assert.Positive(t, row["p99_s"])
				assert.GreaterOrEqual(t, row["cpu_s"], 0.0) // so short a run may have none
				assert.Equal(t, 10.0, row["price"])
				windowed := strategy == "tahoe" || strategy == "reno"
				assert.Equal(t, map[bool]any{true: 0.9, false: 0.0}[windowed], row["factor"])
			}
			assert.Equal(t, c.strategies, strategies)
			assert.Empty(t, clitest.Files(t), "no page unless asked for")
		})
	}
}

func TestTable(t *testing.T) {
	got := aimd(t, tiny("--only", "sdk-default,reno", "--factor", "0.75")...)
	require.Zero(t, got.Status, got.Stderr)
	assert.Contains(t, got.Stdout, "20 objects of 1KiB, uploaded from 4 goroutines")
	assert.Contains(t, got.Stdout, "serves 4 requests at a time, 1ms ±20% each")
	assert.Contains(t, got.Stdout, "│ reno 0.75 ")
	assert.Contains(t, got.Stderr, "  0 lost\n")
	assert.Empty(t, clitest.Files(t), "no file unless asked for")
}

// hour is work whose second strategy is interrupted.
type hour struct {
	*uploads
	interrupt func()
}

func (h hour) Start(s *race.Strategy, client *http.Client) (race.Service, error) {
	if s.Name == "reno" {
		h.interrupt()
	}
	return h.uploads.Start(s, client)
}

func TestInterruptionInTheMiddle(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, interrupt := context.WithCancel(t.Context())
	var out, told bytes.Buffer
	c := &cobra.Command{}
	c.SetContext(ctx)
	c.SetOut(&out)
	c.SetErr(&told)
	w := hour{smallUploads(), interrupt}
	w.Only = []string{"tahoe", "reno", "probe"}
	o := output{json: true, live: new(bool)}
	assert.ErrorIs(t, o.show(c, w, Report{}), context.Canceled)
	assert.Regexp(t, `^{"strategy":"tahoe".*"operations":40,.*}\n$`, out.String())
}

func TestQuickLeavesWhatWasAskedFor(t *testing.T) {
	got := aimd(t, "demo", "--quick", "--only", "reno", "--objects", "8", "--service", "1ms")
	require.Zero(t, got.Status, got.Stderr)
	assert.Contains(t, got.Stdout, "8 objects of 16KiB, uploaded from 256 goroutines")
	assert.Contains(t, got.Stdout, "1ms ±20% each")
}

// A run of less than a second measures how a strategy starts, not how it controls.
func TestQuickIsLongEnoughToCompare(t *testing.T) {
	u := newUploads()
	f := pflag.NewFlagSet("demo", pflag.ContinueOnError)
	quick := u.flags(f)
	f.Var(value.Names(&u.Only, names(u)), "only", "")
	shorten(f, quick)
	assert.Equal(t, []string{"sdk-default", "backoff", "probe", "tahoe", "reno"}, u.Only)
	assert.Greater(t, u.Optimum(u.Operations), time.Second)
	assert.Less(t, u.Optimum(u.Operations), 3*time.Second)
}

// viewer looks at the page once the last strategy is done, until it sees them all.
type viewer struct {
	bytes.Buffer
	t    *testing.T
	last string
	seen bool
}

func (v *viewer) Write(b []byte) (int, error) {
	if !v.seen && bytes.HasPrefix(b, []byte(v.last+" ")) {
		clitest.Shows(v.t, v.String(), `"name":"probe"`, `"name":"reno"`, `"name":"`+v.last)
		v.seen = true
	}
	return v.Buffer.Write(b)
}

// The address is written before the work, the strategies with a limiter run first, and all
// are in one page, under their names.
func TestLive(t *testing.T) {
	for last, args := range map[string][]string{"sdk-default": tiny("--live", "--json"), "plain": tinyAPI("--live", "--json")} {
		t.Chdir(t.TempDir())
		stdout, stderr := &bytes.Buffer{}, &viewer{t: t, last: last}
		status := cli.Tool{Commands: []*cobra.Command{Command()}, Stdout: stdout, Stderr: stderr}.Run(t.Context(), append(args, "--only", "probe,reno,"+last)...)
		require.Zero(t, status, stderr.String())
		assert.True(t, stderr.seen, stderr.String())
	}
}

// naps are operations of two seconds, but for a millisecond. The service has all but one.
type naps struct{}

func (naps) Optimum(int) time.Duration { return time.Second }

func (naps) Start(*race.Strategy, *http.Client) (race.Service, error) {
	return race.Service{
		Do: func(context.Context, int) error {
			time.Sleep(2*time.Second - time.Millisecond)
			return nil
		},
		Has: func(i int) bool { return i > 0 }, Peak: func() int { return 0 }, Close: func() {},
	}, nil
}

// A run of 10 operations, two seconds each but for the last millisecond.
func TestWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		w := &watcher{w: &b, page: new(livepage.Page)}
		r := race.Race{Operations: 10, Goroutines: 2, Factor: 0.9, Only: []string{"reno"}}
		require.NoError(t, r.Run(t.Context(), naps{}, w.begin, func(x race.Result) error {
			w.end(x)
			return nil
		}))
		assert.Equal(t, strings.Join([]string{
			"reno           2.0 s  2/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno           4.0 s  4/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno           6.0 s  6/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno           8.0 s  8/10 done  cwnd 20.0  0 in flight  0 refused",
			"reno          10.0 s  0 refused  1 lost",
			"",
		}, "\n"), b.String())
	})
}

var update = flag.Bool("update", false, "write the golden files")

func example() Report {
	return Report{
		Title: "2000 objects of 64 KiB", Service: "A store <with limits>.", Optimum: "optimum 6.250 s",
		Operation: "object", Done: "stored",
		Results: []race.Result{
			{Strategy: "sdk-default", Operations: 2000, Attempts: 2132, Refused: 1901, Lost: 1784, MakespanS: 2.15, OptimumS: 6.25, P99S: 2.1, Peak: 32, Reason: "quota exceeded"},
			{Strategy: "tahoe", Factor: 0.9, Operations: 2000, Attempts: 2019, Refused: 19, MakespanS: 6.78, OptimumS: 6.25, P99S: 0.9, CPUS: 1.25, Price: 0.010095, Peak: 32},
			{Strategy: "reno", Factor: 0.9, Operations: 2000, Attempts: 2010, Refused: 10, MakespanS: 6.5, OptimumS: 6.25},
		},
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, example().Text(&b))
	if *update {
		require.NoError(t, os.WriteFile("testdata/table.txt", b.Bytes(), 0o644))
	}
	want, err := os.ReadFile("testdata/table.txt")
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String())
}

// The last line is the result of aimd.New, whose law a reader may not know by its strategy's name.
func TestTheLastNoteIsTheResultOfAimdNew(t *testing.T) {
	r := example()
	assert.NotContains(t, strings.Join(r.notes(), "\n"), "aimd.New")
	r.Results = append([]race.Result{{Strategy: "probe", Operations: 2000, Lost: 3, MakespanS: 6.78}}, r.Results...)
	notes := r.notes()
	assert.Equal(t, "probe, the law of aimd.New: 1997 of 2000 objects stored in 6.78 s.", notes[len(notes)-1])
}

// smallUploads are uploads of no time. Without refusals, since the SDK's own strategies then
// wait for seconds.
func smallUploads() *uploads {
	return &uploads{
		Race: race.Race{Operations: 40, Goroutines: 8, Factor: 0.9, Limit: time.Minute, Rivals: newUploads().Rivals},
		size: 1000, slots: 8, service: time.Millisecond,
	}
}

// smallJobs are jobs of no time, for an API that refuses none of them.
func smallJobs() *jobs {
	return &jobs{
		Race: race.Race{Operations: 50, Goroutines: 10, Factor: 0.9, Limit: time.Minute, Rivals: newJobs().Rivals},
		rate: 1e6, burst: 1000, service: time.Millisecond, retryAfter: time.Second,
	}
}

func ignored(string, *race.Meter) {}

// done are the results of the strategies.
func done(t *testing.T, ctx context.Context, w work, begin func(string, *race.Meter), strategies ...string) (all []race.Result) {
	t.Helper()
	r := *w.race()
	r.Only = strategies
	require.NoError(t, r.Run(ctx, w, begin, func(x race.Result) error {
		all = append(all, x)
		return nil
	}))
	return all
}

func TestRefusedWorkIsNotLost(t *testing.T) {
	u, j := smallUploads(), smallJobs()
	// So long that even a slow machine sends more than the slots at a time, and more than the rate after the
	// burst. A refusal asks for no whole second.
	u.Operations, u.Goroutines, u.slots, u.service = 40, 20, 4, 20*time.Millisecond
	j.Operations, j.rate, j.burst, j.retryAfter = 30, 100, 5, 0
	for _, w := range []work{u, j} {
		for _, r := range done(t, t.Context(), w, ignored, "reno", "tahoe", "probe", "backoff") {
			assert.Zero(t, r.Lost, r.Strategy)
			assert.Positive(t, r.Refused, r.Strategy)
			assert.Equal(t, r.Operations+r.Refused, r.Attempts, r.Strategy)
			if w == work(u) {
				assert.LessOrEqual(t, r.Peak, 4, r.Strategy)
			}
		}
	}
}

func TestThePlainPoolLosesWhatIsRefused(t *testing.T) {
	j := smallJobs()
	j.rate, j.burst = 1e-9, 20
	r := done(t, t.Context(), j, ignored, "plain")[0]
	assert.Equal(t, 50, r.Attempts)
	assert.Equal(t, 30, r.Refused)
	assert.Equal(t, 30, r.Lost)
	assert.Contains(t, r.Reason, "429 Too Many Requests")
}

func TestAWrongObjectIsLost(t *testing.T) {
	u := smallUploads()
	client := &http.Client{}
	service, err := u.Start(&race.Strategy{Name: "sdk-default"}, client)
	require.NoError(t, err)
	defer service.Close()
	require.NoError(t, service.Do(t.Context(), 7))
	assert.True(t, service.Has(7))
	assert.False(t, service.Has(8))
	u.size++
	assert.False(t, service.Has(7), "another content")
	assert.Equal(t, content(7, 1000), content(7, 1000))
	assert.NotEqual(t, content(7, 1000), content(8, 1000))
}

// An interruption ends every strategy at once, also in the middle of a request or a wait.
func TestInterruptionOfEachStrategy(t *testing.T) {
	u, j := smallUploads(), smallJobs()
	u.service, j.service = time.Hour, time.Hour // that ends when the service closes
	for _, w := range []work{u, j} {
		for _, name := range names(w) {
			t.Run(name, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				assert.Empty(t, done(t, ctx, w, func(string, *race.Meter) { time.AfterFunc(10*time.Millisecond, interrupt) }, name))
			})
		}
	}
}

func TestRefusalOfTheAPI(t *testing.T) {
	j := smallJobs()
	j.rate, j.burst, j.retryAfter = 1e-9, 2, 1500*time.Millisecond
	var last *http.Response
	client := &http.Client{Transport: seen(func(res *http.Response) { last = res })}
	service, err := j.Start(nil, client)
	require.NoError(t, err)
	defer service.Close()
	require.NoError(t, service.Do(t.Context(), 1))
	require.NoError(t, service.Do(t.Context(), 1))
	require.Error(t, service.Do(t.Context(), 2))
	assert.Equal(t, http.StatusTooManyRequests, last.StatusCode)
	assert.Equal(t, "2", last.Header.Get("Retry-After"))
	assert.True(t, service.Has(1))
	assert.False(t, service.Has(2))
}

// seen is a transport that is shown each answer.
type seen func(*http.Response)

func (s seen) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	s(res)
	return res, err
}

func TestOptimum(t *testing.T) {
	u := newUploads()
	assert.Equal(t, 6250*time.Millisecond, u.Optimum(2000))
	assert.Equal(t, 100*time.Millisecond, u.Optimum(1), "one takes its service time")
	j := newJobs()
	assert.Equal(t, 10*time.Second, j.Optimum(1000))
	assert.Equal(t, 200*time.Millisecond, j.Optimum(20))
	assert.Equal(t, 200*time.Millisecond, j.Optimum(1))
}
