package figure

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
)

func curves(names ...string) (all []Curve) {
	for i, n := range names {
		all = append(all, Nth(n, i))
	}
	return all
}

func simple(p *Panel, legend ...Curve) Figure {
	return Figure{Name: "simple", Legend: legend, Panels: []*Panel{p}, X: "time (s)", Y: "requests", PanelHeight: 2 * vg.Inch}
}

func svg(t *testing.T, f Figure) string {
	t.Helper()
	b, err := f.SVG()
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(b, new(struct{})))
	return string(b)
}

func TestFiles(t *testing.T) {
	p := NewPanel("one", Axis{Max: 10}, Axis{Max: 5})
	p.Line(Nth("a", 0), Points{{X: 0, Y: 1}, {X: 10, Y: 4}})
	dir := t.TempDir()
	f := simple(p, Nth("a", 0))
	for _, write := range []func(string) (string, error){f.WriteSVG, f.WritePNG} {
		file, err := write(dir)
		require.NoError(t, err)
		assert.Equal(t, dir, filepath.Dir(file))
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.HasSuffix(file, ".png") {
			c, err := png.DecodeConfig(bytes.NewReader(b))
			require.NoError(t, err)
			assert.Equal(t, 1200, c.Width)
		}
	}
	_, err := f.WriteSVG(filepath.Join(dir, "no", "such"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// What is outside of the axes is not drawn, and does not stretch them.
func TestAxesStayAsTheyAre(t *testing.T) {
	p := NewPanel("", Axis{Max: 10}, Axis{Max: 5})
	p.Line(Nth("a", 0), Points{{X: -5, Y: 1}, {X: 5, Y: 1000}, {X: 50, Y: 1}})
	p.Level(Line("limit", Black, 1), 3)
	p.Shade(-3, 100)
	assert.NotContains(t, svg(t, simple(p)), ">1000<")
	assert.Equal(t, 5.0, p.plot.Y.Max)
}

func TestZerosOnALogarithmicAxisAreAtItsBottom(t *testing.T) {
	p := NewPanel("", Axis{Min: 1, Max: 100, Log: true}, Axis{Min: 1, Max: 100, Log: true})
	p.Steps(Nth("a", 0), Points{{X: 1, Y: 0}, {X: 100, Y: 50}})
	p.Bars(Nth("a", 0), Points{{X: 10, Y: 0}}, [][2]float64{{0, 1000}})
	assert.Contains(t, svg(t, simple(p)), ">100<")
}

// "legend": it goes on in another row, and the figure is as much higher.
func TestTheLegendHasAsManyRowsAsItNeeds(t *testing.T) {
	p := NewPanel("", Axis{Max: 1}, Axis{Max: 1})
	one := simple(p, curves("a", "b", "c")...)
	assert.Len(t, one.legendRows(), 1)
	long := simple(p, curves(strings.Repeat("long ", 16), strings.Repeat("long ", 16), strings.Repeat("long ", 16))...)
	assert.Len(t, long.legendRows(), 3)
	assert.InDelta(t, float64(2*legendRow), float64(long.height()-one.height()), 1e-9)
	noted := one
	noted.Note = "below"
	assert.Greater(t, noted.height(), one.height())
	assert.Contains(t, svg(t, noted), ">below<")
}

// "colours that work for the colour-blind": and no two of eight look the same.
func TestCurvesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range 16 {
		c := Nth("x", i)
		p := NewPanel("", Axis{Max: 1}, Axis{Max: 1})
		p.Line(Curve{LineStyle: c.LineStyle}, Points{{}, {X: 1, Y: 1}})
		styles := regexp.MustCompile(`style="[^"]*"`).FindAllString(svg(t, simple(p)), -1)
		look := styles[len(styles)-1]
		assert.False(t, seen[look], "%d: %s", i, look)
		seen[look] = true
	}
}

func TestCells(t *testing.T) {
	p := NewPanel("", Axis{Labels: []string{"1", "1000"}}, Axis{Labels: []string{"few", "many"}})
	p.Cells([]Cell{{Text: "left", Tone: -1}, {Column: 1, Row: 1, Text: "right", Tone: 1}})
	f := simple(p)
	text := svg(t, f)
	for _, s := range []string{">few<", ">many<", ">1000<", ">left<", ">right<"} {
		assert.Contains(t, text, s)
	}
	b, err := f.PNG()
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(b))
	require.NoError(t, err)
	assert.Positive(t, count(picture, Vermillion))
	assert.Positive(t, count(picture, Blue))
	assert.Equal(t, color.RGBA{255, 255, 255, 255}, tone(0))
}

func count(p image.Image, c color.RGBA) (n int) {
	for x := range p.Bounds().Dx() {
		for y := range p.Bounds().Dy() {
			if r, g, b, _ := p.At(x, y).RGBA(); uint8(r>>8) == c.R && uint8(g>>8) == c.G && uint8(b>>8) == c.B {
				n++
			}
		}
	}
	return n
}
