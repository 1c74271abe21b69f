package chart

import (
	"bytes"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/internal/sim"
)

var update = flag.Bool("update", false, "write the golden files")

// golden holds text against a file in testdata.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile("testdata/"+file, []byte(got), 0o644))
	}
	want, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// base is a scenario of no time.
const base = `
title: A small <service>
server: {service: 50ms, slots: 5, refusal: {time: 5ms}, outages: [{from: 200ms, for: 300ms}]}
clients: {operations: 40, rate: 200}
runs: 3
strategies: [backoff, reno-0.9]
`

func study(t *testing.T, text string) experiment.Study {
	t.Helper()
	s, err := scenario.Parse("small.yaml", []byte(text))
	require.NoError(t, err)
	x, err := experiment.Run(t.Context(), s, func() {})
	require.NoError(t, err)
	return x
}

func shown(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Text(&b, study(t, text)))
	return b.String()
}

const (
	sweep = "sweep: [{field: clients.operations, values: [10, 40]}]\n"
	two   = "sweep: [{field: server.slots, values: [2, 5]}, {field: clients.count, values: [1, 4]}]\n"
)

func TestText(t *testing.T) {
	golden(t, "runs.txt", shown(t, base))
	golden(t, "sweep.txt", shown(t, base+sweep+"plot: [{kind: curve, measure: efficiency}]\n"))
	golden(t, "grid.txt", shown(t, base+two+"plot: [{kind: map, measure: attempts, strategies: [backoff, reno-0.9]}]\n"))
}

// Every kind of figure can be drawn, names its axes with units, and is what it was
// asked to be.
func TestFigures(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		names []string
		has   []string
	}{
		"as it suits":                  {base, []string{"small-answers", "small-cwnd"}, []string{"time (s)", "requests per second", "succeeded", "refused", "service down", "capacity (100/s)"}},
		"as it suits without a window": {strings.Replace(base, ", reno-0.9", "", 1), []string{"small-answers"}, nil},
		"as it suits a sweep":          {base + sweep, []string{"small-attempts", "small-p99"}, []string{"attempts per operation", "operations", "bars: their least and most"}},
		"as it suits a grid":           {base + two, nil, nil},
		"requests":                     {base + "plot: [{kind: requests, per: 300ms}]\n", []string{"small"}, []string{"retries among them", "backoff: requests per second"}},
		"requests of one":              {base + "plot: [{kind: requests, log_y: true, strategies: [backoff]}]\n", []string{"small"}, []string{"requests per second"}},
		"a part of the time":           {base + "plot: [{kind: requests, from: 500ms, to: 600ms, strategies: [backoff]}]\n", []string{"small"}, []string{"requests per second"}},
		"window":                       {base + "plot: [{name: w, kind: window}]\n", []string{"small-w"}, []string{"cwnd", "ssthresh", "limit (5)", "requests at a time"}},
		"load":                         {base + "plot: [{kind: load, top: 10}]\n", []string{"small"}, []string{"requests at the service"}},
		"delays":                       {"server: {}\nclients: {}\nstrategies: [last-try, backoff-compound]\nplot: [{kind: delays, log_y: true}]\n", []string{"small"}, []string{"wait before the attempt (s)", "number of the attempt"}},
		"curve":                        {base + sweep + "plot: [{kind: curve, measure: makespan_s, log_y: true}]\n", []string{"small"}, []string{"time for all operations (s)"}},
		"curve over durations":         {base + "sweep: [{field: \"server.outages[0].for\", values: [1ms, 2s]}]\nplot: [{kind: curve, measure: outage_sent}]\n", []string{"small"}, []string{"length of the outage", "1ms", "2s", "requests sent while the service is down"}},
		"curve over words":             {base + "sweep: [{field: server.spread.kind, values: [constant, exponential]}]\nplot: [{kind: curve, measure: jain}]\n", []string{"small"}, []string{"constant", "exponential"}},
		"curve of nothing":             {base + sweep + "plot: [{kind: curve, measure: timed_out, log_y: true}]\n", []string{"small"}, []string{"timed out"}},
		"map":                          {base + two + "plot: [{kind: map, measure: attempts, strategies: [backoff, reno-0.9]}]\n", nil, nil},
		"failures": {"server: {failures: {rate: 0.25, sticky: true, from: 1s, for: 2s}}\nclients: {count: 8, think: 100ms}\nhorizon: 4s\nruns: 1\nstrategies: [none]\nplot: [{kind: answers}]\n",
			[]string{"small"}, []string{"25% of clients fail"}},
	} {
		t.Run(name, func(t *testing.T) {
			figures := Figures(study(t, c.text))
			var names []string
			var all strings.Builder
			for _, f := range figures {
				names = append(names, f.Name)
				all.WriteString(svg(t, f))
			}
			assert.Equal(t, c.names, names)
			for _, s := range c.has {
				assert.Contains(t, all.String(), s)
			}
			assert.NotContains(t, all.String(), "NaN")
		})
	}
}

func written(t *testing.T, story ...experiment.Study) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Page(&b, story))
	return b.String()
}

func TestTextOfWhatWasInterrupted(t *testing.T) {
	s := study(t, base+two+"plot: [{kind: map, measure: attempts, strategies: [backoff, reno-0.9]}]\n")
	s.Rows = s.Rows[:3]
	var b bytes.Buffer
	require.NoError(t, Text(&b, s))
	assert.Equal(t, 3, strings.Count(b.String(), "–"), "one cell of four is there")
	s.Rows = nil
	assert.Empty(t, Figures(s))
	assert.NoError(t, Text(&b, s))
}

// The page has the claims with their numbers, and needs no other file and no network: it has no address but those of
// the texts that it links to, and names of XML.
func TestPage(t *testing.T) {
	s := study(t, base+"claim: it <works>\nexpect:\n  - {strategy: backoff, measure: done, is: 40, says: \"40 & more\"}\n  - {strategy: backoff, measure: done, is: 41}\n")
	s.Name = scenario.Story()[0]
	met := study(t, base+"expect: [{strategy: backoff, measure: done, is: 40}]\n")
	met.Name = scenario.Story()[1]
	html := written(t, s, met)
	assert.Equal(t, 4, strings.Count(html, `<svg class="figure"`))
	for _, text := range []string{
		`<div class="verdict unmet"><p>1 of 3 expectations do not hold.</p></div>`, "A small &lt;service&gt;", "it &lt;works&gt;", "40 &amp; more", `<td class=" bad">40 (not as expected)</td>`,
		"the median of runs", `<span class="bad">✗</span> <a href="#` + s.Name + `">`, `✓ <a href="#` + met.Name + `">`,
		`<a href="https://sudonull.com/`, `</a>, Andrey Smirnov, 2014`, `prefers-color-scheme: dark`,
	} {
		assert.Contains(t, html, text)
	}
	assert.NotContains(t, html, "ZgotmplZ")
	assert.NotRegexp(t, `(?i)\bsrc\s*=|url\(|@import|<link|<iframe|fetch\(|XMLHttp`, html)
	for _, url := range regexp.MustCompile(`https?://[^"'\s<]*`).FindAllString(html, -1) {
		assert.Contains(t, []string{"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink", scenario.Index.Chapters[0].Source.URL}, url)
	}
	assert.Contains(t, written(t, met), `<div class="verdict"><p>All 1 expectations hold.</p></div>`)
}

// A ratio is not printed for a run that lost work
func TestNoRatioWhereWorkWasLost(t *testing.T) {
	s := study(t, strings.Replace(base, "backoff, reno-0.9", "none, reno-0.9", 1))
	assert.Equal(t, "–", cell(s.Rows[0], "span").Text)
	assert.True(t, cell(s.Rows[0], "given_up").Bad)
	assert.NotEqual(t, "–", cell(s.Rows[1], "span").Text)
}

func TestTheStoryHasEveryScenarioOnce(t *testing.T) {
	var studies []experiment.Study
	for _, name := range scenario.Story() {
		file, text, err := scenario.Builtin(name)
		require.NoError(t, err)
		s, err := scenario.Parse(file, text)
		require.NoError(t, err)
		studies = append(studies, experiment.Study{Scenario: s})
	}
	html := written(t, studies...)
	for _, name := range scenario.Story() {
		assert.Equal(t, 1, strings.Count(html, `<h3 id="`+name+`">`), name)
	}
	sources := map[string]bool{}
	for _, c := range scenario.Index.Chapters {
		sources[c.Source.URL] = true
	}
	assert.Len(t, sources, 5, "each text begins a chapter")
}

// A reader of the output may not know the law of aimd.New by its strategy name.
func TestTextExplainsProbe(t *testing.T) {
	assert.NotContains(t, shown(t, base), Probe)
	assert.Contains(t, shown(t, strings.Replace(base, "reno-0.9", "probe", 1)), Probe)
}

// Failures that have no end were in the legend, and nowhere in the plot.
func TestFailuresWithoutAnEndAreDrawn(t *testing.T) {
	var d drawing
	d.Server.Failures = sim.Failures{Rate: 0.25, From: time.Second}
	_, times := d.trouble()
	require.Len(t, times, 1)
	assert.Equal(t, 1.0, times[0][0].X)
	assert.Greater(t, times[0][2].X, 1e9, "later than any axis ends")
}

func simple(names ...string) Figure {
	f := newFigure("simple", "A <caption>", 2*vg.Inch)
	p := f.plot("requests")
	p.X.Label.Text = "time (s)"
	for i, name := range names {
		line, glyph := nth(i)
		l, g := &plotter.Line{XYs: plotter.XYs{{X: -5, Y: 1}, {X: 50, Y: 1}}, LineStyle: line}, &plotter.Scatter{GlyphStyle: glyph}
		p.Add(l, g)
		f.Legend.Add(name, l, g)
	}
	return *f
}

func svg(t *testing.T, f Figure) string {
	t.Helper()
	b, err := f.SVG()
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(b, new(struct{})))
	return string(b)
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, Write(dir, []Figure{simple("a")}))
	assert.FileExists(t, filepath.Join(dir, "simple.svg"))
	assert.ErrorIs(t, Write(filepath.Join(dir, "no", "such"), []Figure{simple("a")}), os.ErrNotExist)
}

// The same text is a file and an element of a page, light and dark.
func TestSVG(t *testing.T) {
	got := svg(t, simple("<one>", "two"))
	assert.True(t, strings.HasPrefix(got, "<svg "))
	for _, text := range []string{"prefers-color-scheme:dark", `aria-label="A &lt;caption&gt;"`, ">&lt;one&gt;<", ">time (s)<", ">requests<"} {
		assert.Contains(t, got, text)
	}
	assert.Equal(t, got, svg(t, simple("<one>", "two")))
}

// Curves differ without their colours too.
func TestCurvesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range 7 {
		f := newFigure("", "", vg.Inch)
		line, glyph := nth(i)
		f.plot("").Add(&plotter.Line{XYs: plotter.XYs{{}, {X: 1, Y: 1}}, LineStyle: line}, &plotter.Scatter{XYs: plotter.XYs{{}}, GlyphStyle: glyph})
		look := regexp.MustCompile(`#[0-9A-F]{6}`).ReplaceAllString(svg(t, *f), "")
		assert.False(t, seen[look], i)
		seen[look] = true
	}
}

// A logarithmic axis begins and ends at a power of ten, so at least two ticks have labels.
func TestLog(t *testing.T) {
	nothing := plot.New().X
	for _, c := range [][4]float64{{1, 60, 1, 100}, {1.2, 1.4, 1, 10}, {0.02, 3, 0.01, 10}, {1, 1, 0.1, 1}, {100, 100, 10, 100}, {0, 5, 0.1, 1}, {nothing.Min, nothing.Max, 0.1, 1}} {
		a := plot.Axis{Min: c[0], Max: c[1]}
		logarithmic(&a)
		assert.InEpsilonSlice(t, c[2:], []float64{a.Min, a.Max}, 0.002, c)
		labels := map[string]bool{}
		for _, tick := range a.Tick.Marker.Ticks(a.Min, a.Max) {
			labels[tick.Label] = true
		}
		for _, end := range c[2:] {
			assert.True(t, labels[strconv.FormatFloat(end, 'g', -1, 64)], "%v: %v", c, labels)
		}
	}
}
