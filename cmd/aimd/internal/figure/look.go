package figure

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() { plot.DefaultFont.Variant = "Sans" }

// The colours of Okabe and Ito, which differ for most colour-blind people:
// https://jfly.uni-koeln.de/color/
var (
	Blue       = color.RGBA{0x00, 0x72, 0xB2, 0xFF}
	Vermillion = color.RGBA{0xD5, 0x5E, 0x00, 0xFF}
	Orange     = color.RGBA{0xE6, 0x9F, 0x00, 0xFF}
	Black      = color.RGBA{0x00, 0x00, 0x00, 0xFF}

	all = []color.RGBA{Blue, Vermillion, {0x00, 0x9E, 0x73, 0xFF}, Orange, {0xCC, 0x79, 0xA7, 0xFF}, {0x56, 0xB4, 0xE9, 0xFF}, Black}
)

// Line is the style of a line. The dashes and gaps, if any, are in points.
func Line(c color.Color, dashes ...float64) draw.LineStyle {
	l := draw.LineStyle{Color: c, Width: vg.Points(1.7)}
	for _, d := range dashes {
		l.Dashes = append(l.Dashes, vg.Points(d))
	}
	return l
}

// Nth returns the style of the nth of several curves, and of its points. They differ in
// dashes and shapes too, not in colour alone.
func Nth(n int) (draw.LineStyle, draw.GlyphStyle) {
	l := Line(all[n%len(all)])
	l.Dashes = plotutil.Dashes(n)
	return l, draw.GlyphStyle{Color: l.Color, Radius: vg.Points(3.2), Shape: plotutil.Shape(n)}
}

// Box is a filled rectangle.
func Box(left, right, bottom, top float64, c color.Color) *plotter.Polygon {
	corners := plotter.XYs{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}}
	return &plotter.Polygon{XYs: []plotter.XYs{corners}, Color: c}
}

// Shade is the colour of a stretch of time.
var Shade = color.Gray{0xE2}

// Curve returns a line through the points, with a glyph at each, and adds it to the legend.
func (f *Figure) Curve(text string, xys plotter.XYs, line draw.LineStyle, glyph draw.GlyphStyle) []plot.Plotter {
	l, g := &plotter.Line{XYs: xys, LineStyle: line}, &plotter.Scatter{XYs: xys, GlyphStyle: glyph}
	if line.Width == 0 {
		f.Explain(text, g)
		return []plot.Plotter{g}
	}
	f.Explain(text, l, g)
	return []plot.Plotter{l, g}
}

// Axis is the range of an axis.
type Axis struct {
	// Label has the unit.
	Label    string
	Min, Max float64
	// Log makes it logarithmic. Min is then greater than 0.
	Log bool
	// Words stand at 0, 1, 2 and so on, in place of a range.
	Words []string
}

func (a Axis) set(to *plot.Axis) {
	to.Min, to.Max, to.Label.Text, to.Padding, to.Tick.Marker = a.Min, a.Max, a.Label, 0, plot.TickerFunc(steps)
	if a.Log {
		to.Scale, to.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	}
	if len(a.Words) > 0 {
		to.Min, to.Max = -0.5, float64(len(a.Words))-0.5
		ticks := make(plot.ConstantTicks, len(a.Words))
		for i, w := range a.Words {
			ticks[i] = plot.Tick{Value: float64(i), Label: w}
		}
		to.Tick.Marker = ticks
	}
}

// New returns a plot with these axes, whatever the range of the data. The title says what
// y is: gonum's label of a low axis takes the room of the data.
func New(title string, x, y Axis, data ...plot.Plotter) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Title.Padding = title, vg.Points(2)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color, grid.Horizontal.Dashes = nil, color.Gray{0xD8}, nil
	p.Add(grid)
	p.Add(data...)
	x.set(&p.X)
	y.set(&p.Y)
	return p
}

// steps are ticks at multiples of 1, 2 or 5 times a power of ten, at most eight.
func steps(low, high float64) (ticks []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/8)))
	for i := 0; (high-low)/step > 8; i++ {
		step *= []float64{2, 2.5, 2}[i%3]
	}
	for n := math.Ceil(low / step); n*step <= high; n++ {
		ticks = append(ticks, plot.Tick{Value: n * step, Label: strconv.FormatFloat(n*step, 'g', 6, 64)})
	}
	return ticks
}

// decades are ticks at 1, 2 and 5 times the powers of ten. If there are more than two
// powers, these alone have labels.
func decades(low, high float64) (ticks []plot.Tick) {
	for v := math.Pow(10, math.Floor(math.Log10(low))); v <= high; v *= 10 {
		for _, n := range []float64{1, 2, 5} {
			t := plot.Tick{Value: n * v}
			if n == 1 || high/low < 100 {
				t.Label = strconv.FormatFloat(t.Value, 'g', 6, 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}
