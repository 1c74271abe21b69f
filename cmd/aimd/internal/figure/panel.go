package figure

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Axis is from where to where an axis goes.
type Axis struct {
	Min, Max float64
	// Log makes it logarithmic; Min is then greater than 0.
	Log bool
	// Labels make it an axis of categories, at 0, 1, 2 and so on, instead of all
	// else.
	Labels []string
}

// Points are what a curve goes through, and Point is one of them.
type (
	Points = plotter.XYs
	Point  = plotter.XY
)

// Panel is one pair of axes with what is drawn into it, in the order of the calls.
type Panel struct {
	plot *plot.Plot
	x, y Axis
}

// NewPanel returns an empty panel.
func NewPanel(title string, x, y Axis) *Panel {
	p := plot.New()
	p.BackgroundColor = nil // the page's or the paper's
	p.Title.Text = title
	p.Title.TextStyle.Font.Size, p.Title.Padding = large, vg.Points(4)
	p.Title.TextStyle.Font.Variant = "Sans"
	prepare(&p.X, x, 8)
	prepare(&p.Y, y, 5)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, pale
	p.Add(grid)
	return &Panel{p, x, y}
}

// prepare gives an axis its range, with at most so many labelled ticks.
func prepare(to *plot.Axis, a Axis, most int) {
	to.Min, to.Max = a.Min, a.Max
	to.Tick.Marker = plot.TickerFunc(ticks(most))
	if a.Log {
		to.Scale, to.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	}
	if len(a.Labels) > 0 {
		to.Min, to.Max, to.Tick.Marker = -0.5, float64(len(a.Labels))-0.5, categories(a.Labels)
	}
	to.Label.TextStyle.Font.Size, to.Tick.Label.Font.Size = small, small
	to.Label.TextStyle.Font.Variant, to.Tick.Label.Font.Variant = "Sans", "Sans"
	to.Padding = 0
}

// add adds what is to be drawn, and leaves the axes as they are.
func (p *Panel) add(what plot.Plotter) {
	x, y := p.plot.X, p.plot.Y
	p.plot.Add(what)
	p.plot.X, p.plot.Y = x, y
}

// Line draws a curve from point to point, and its mark at each. What is outside of
// the panel is left out; on an axis that does not begin at 0, as no logarithmic
// one does, what is too low is drawn at the bottom.
func (p *Panel) Line(c Curve, xys Points) { p.line(c, plotter.NoStep, xys) }

// Steps draws a curve that stays level until the next point.
func (p *Panel) Steps(c Curve, xys Points) { p.line(c, plotter.PostStep, xys) }

func (p *Panel) line(c Curve, step plotter.StepKind, xys Points) {
	if least := p.plot.Y.Min; least > 0 {
		xys = slices.Clone(xys)
		for i := range xys {
			xys[i].Y = max(xys[i].Y, least)
		}
	}
	if c.Width > 0 {
		p.add(&plotter.Line{XYs: xys, LineStyle: c.LineStyle, StepStyle: step})
	}
	if c.Mark != nil {
		p.add(&plotter.Scatter{XYs: xys, GlyphStyle: c.glyph()})
	}
}

// Bars draws a vertical bar at each point, from the first to the second number.
func (p *Panel) Bars(c Curve, at Points, ends [][2]float64) {
	for i, xy := range at {
		within := func(y float64) float64 { return min(max(y, p.plot.Y.Min), p.plot.Y.Max) }
		from, to := within(ends[i][0]), within(ends[i][1])
		style := c.LineStyle
		style.Dashes = nil
		p.add(&plotter.Line{XYs: Points{{X: xy.X, Y: from}, {X: xy.X, Y: to}}, LineStyle: style})
	}
}

// Level draws a horizontal line over the whole panel.
func (p *Panel) Level(c Curve, y float64) {
	f := plotter.NewFunction(func(float64) float64 { return y })
	f.LineStyle, f.Samples = c.LineStyle, 2
	p.add(f)
}

// Shade marks a stretch of the x axis.
func (p *Panel) Shade(from, to float64) { p.add(stretch{from, to, shade}) }

type stretch struct {
	from, to float64
	color    color.Color
}

func (s stretch) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	left, right := max(x(s.from), c.Min.X), min(x(s.to), c.Max.X)
	c.FillPolygon(s.color, []vg.Point{{X: left, Y: c.Min.Y}, {X: right, Y: c.Min.Y}, {X: right, Y: c.Max.Y}, {X: left, Y: c.Max.Y}})
}

// Cell is one field of a map.
type Cell struct {
	// Column and Row count from 0, left and bottom.
	Column, Row int
	// Text stands in it.
	Text string
	// Tone is from -1 to 1: how much of Vermillion or Blue it has; 0 is none.
	Tone float64
}

// Cells draws a map onto axes of categories.
func (p *Panel) Cells(cells []Cell) { p.add(heat(cells)) }

type heat []Cell

func (h heat) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, cell := range h {
		left, right := x(float64(cell.Column)-0.5), x(float64(cell.Column)+0.5)
		bottom, top := y(float64(cell.Row)-0.5), y(float64(cell.Row)+0.5)
		c.FillPolygon(tone(cell.Tone), []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}})
		style := labelStyle()
		style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
		if math.Abs(cell.Tone) > 0.75 {
			style.Color = color.White
		}
		c.FillText(style, vg.Point{X: (left + right) / 2, Y: (bottom + top) / 2}, cell.Text)
	}
}

// tone is as opaque as the tone is strong, so that it goes with any background.
func tone(t float64) color.Color {
	full := Blue
	if t < 0 {
		full = Vermillion
	}
	return color.NRGBA{full.R, full.G, full.B, uint8(max(1, 255*min(math.Abs(t), 1)))} // gonum divides by it
}

// ticks are at most so many labelled ticks at multiples of 1, 2 or 5 times a
// power of ten.
func ticks(most int) func(low, high float64) []plot.Tick {
	return func(low, high float64) []plot.Tick {
		step := math.Pow(10, math.Floor(math.Log10((high-low)/float64(most))))
		for i := 0; (high-low)/step > float64(most); i++ {
			step *= []float64{2, 2.5, 2}[i%3]
		}
		var all []plot.Tick
		for n := math.Ceil(low / step); n*step <= high; n++ {
			all = append(all, tick(n*step))
		}
		return all
	}
}

// decades are ticks at the powers of ten, with marks at 2 and 5 between them, which have
// labels too where there is one power of ten or two.
func decades(low, high float64) []plot.Tick {
	var all []plot.Tick
	for v := math.Pow(10, math.Floor(math.Log10(low))); v <= high; v *= 10 {
		all = append(all, tick(v))
		for _, between := range []float64{2 * v, 5 * v} {
			if between <= high {
				mark := plot.Tick{Value: between}
				if high/low < 20 {
					mark = tick(between)
				}
				all = append(all, mark)
			}
		}
	}
	return all
}

func tick(v float64) plot.Tick {
	return plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 6, 64)}
}

type unlabelled struct{ plot.Ticker }

func (u unlabelled) Ticks(low, high float64) []plot.Tick {
	all := u.Ticker.Ticks(low, high)
	for i := range all {
		// A label of nothing would make it a minor tick.
		all[i].Label = " "
	}
	return all
}

// categories are labelled ticks at 0, 1, 2 and so on.
func categories(labels []string) (all plot.ConstantTicks) {
	for i, label := range labels {
		all = append(all, plot.Tick{Value: float64(i), Label: label})
	}
	return all
}
