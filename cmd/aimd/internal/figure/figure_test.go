package figure

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

func simple(names ...string) Figure {
	f := Figure{Name: "simple", Caption: "A <caption>", Height: 2 * vg.Inch}
	var curves []plot.Plotter
	for i, name := range names {
		line, glyph := Nth(i)
		curves = append(curves, f.Curve(name, plotter.XYs{{X: -5, Y: 1}, {X: 5, Y: 1000}, {X: 50, Y: 1}}, line, glyph)...)
	}
	f.Plots = []*plot.Plot{New("requests", Axis{Label: "time (s)", Max: 10}, Axis{Max: 5}, curves...)}
	return f
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
	files, err := Write("out", dir, []Figure{simple("a")}, SVG, PNG)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "simple.svg"), filepath.Join(dir, "simple.png")}, files)
	picture, err := os.ReadFile(files[1])
	require.NoError(t, err)
	c, err := png.DecodeConfig(bytes.NewReader(picture))
	require.NoError(t, err)
	assert.InDelta(t, 1210, c.Width, 1)
	_, err = Write("out", filepath.Join(dir, "no", "such"), []Figure{simple("a")}, SVG)
	assert.ErrorIs(t, err, os.ErrNotExist)
	files, err = Write("out", "", []Figure{simple("a")}, SVG)
	assert.NoError(t, err)
	assert.Empty(t, files)
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

// Data outside of the axes do not stretch them.
func TestAxesStayAsTheyAre(t *testing.T) {
	f := simple("a")
	assert.NotContains(t, svg(t, f), ">1000<")
	assert.Equal(t, []float64{0, 10, 0, 5}, []float64{f.Plots[0].X.Min, f.Plots[0].X.Max, f.Plots[0].Y.Min, f.Plots[0].Y.Max})
}

func TestTheLegendHasAsManyRowsAsItNeeds(t *testing.T) {
	short, long := simple("a", "b", "c"), simple(strings.Repeat("long ", 10), "b", "c")
	assert.Len(t, short.legends(), 3)
	assert.Len(t, long.legends(), 1)
	assert.Greater(t, long.height(), short.height())
	assert.Len(t, simple().legends(), 1)
}

// Curves differ without their colours too.
func TestCurvesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range 7 {
		line, glyph := Nth(i)
		f := Figure{Height: vg.Inch}
		f.Plots = []*plot.Plot{New("", Axis{Max: 1}, Axis{Max: 1}, f.Curve("", plotter.XYs{{}, {X: 1, Y: 1}}, line, glyph)...)}
		look := regexp.MustCompile(`#[0-9A-F]{6}`).ReplaceAllString(svg(t, f), "")
		assert.False(t, seen[look], i)
		seen[look] = true
	}
}

func TestTicks(t *testing.T) {
	labels := func(ticks []plot.Tick) (all []string) {
		for _, t := range ticks {
			if t.Label != "" {
				all = append(all, t.Label)
			}
		}
		return all
	}
	for high, want := range map[float64]string{6.8: "0 1 2 3 4 5 6", 18: "0 5 10 15", 0.75: "0 0.1 0.2 0.3 0.4 0.5 0.6 0.7", 1300: "0 200 400 600 800 1000 1200"} {
		assert.Equal(t, strings.Fields(want), labels(steps(0, high)), "to %v", high)
	}
	assert.Equal(t, []string{"1", "2", "5", "10", "20", "50"}, labels(decades(1, 60)))
	assert.Equal(t, []string{"1", "10", "100", "1000"}, labels(decades(1, 1500)))
}
