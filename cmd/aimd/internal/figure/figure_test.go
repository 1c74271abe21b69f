package figure

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
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
	files, err := Write("out", dir, []Figure{f}, SVG, PNG)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, "simple.svg"), filepath.Join(dir, "simple.png")}, files)
	text, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(text, new(struct{})))
	assert.Contains(t, string(text), "prefers-color-scheme:dark")
	assert.Contains(t, string(text), `<rect class="paper"`)
	picture, err := os.ReadFile(files[1])
	require.NoError(t, err)
	c, err := png.DecodeConfig(bytes.NewReader(picture))
	require.NoError(t, err)
	assert.Equal(t, 1200, c.Width)
	_, err = Write("out", filepath.Join(dir, "no", "such"), []Figure{f}, SVG)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// In a page the figure has the page's colours, and each curve of the legend is found
// by the style that data-pointer names.
func TestInAPage(t *testing.T) {
	p := NewPanel("", Axis{Max: 10}, Axis{Min: 1, Max: 100, Log: true})
	var legend []Curve
	for i := range 8 {
		c := Nth(fmt.Sprintf("<%d>", i), i)
		p.Line(c, Points{{X: 0, Y: 1}, {X: 10, Y: 40}})
		legend = append(legend, c)
	}
	p.Shade(1, 2)
	text := svg(t, simple(p, append(legend, Area("down"))...))
	assert.NotContains(t, text, "#000000")
	assert.NotContains(t, text, "#FFFFFF", "nothing is painted behind the panels")
	var root struct {
		Pointer string `xml:"data-pointer,attr"`
	}
	require.NoError(t, xml.Unmarshal([]byte(text), &root))
	var r Reading
	require.NoError(t, json.Unmarshal([]byte(root.Pointer), &r))
	require.Len(t, r.Curves, 8, "an area is none")
	for _, c := range r.Curves {
		assert.Contains(t, text, `style="`+c.Style+`"`, c.Text)
	}
	require.Len(t, r.Panels, 1)
	assert.True(t, r.Panels[0]["y"].Log)
	assert.Equal(t, []float64{0, 10, 1, 100}, []float64{r.Panels[0]["x"].Min, r.Panels[0]["x"].Max, r.Panels[0]["y"].Min, r.Panels[0]["y"].Max})
	assert.Less(t, r.Panels[0]["x"].From, r.Panels[0]["x"].To)
}

// A script goes through the curves: a map, which has none, has an empty list of them.
func TestAMapHasNoCurvesToRead(t *testing.T) {
	assert.Contains(t, svg(t, simple(NewPanel("", Axis{Max: 1}, Axis{Max: 1}), Area("down"))), `&#34;curves&#34;:[]`)
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
	assert.Equal(t, color.NRGBA{0, 0x72, 0xB2, 1}, tone(0))
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
