package chart

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

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
