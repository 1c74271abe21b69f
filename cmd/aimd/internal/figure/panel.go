package figure

import (
	"image/color"
	"slices"

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
}

// Points are what a curve goes through.
type Points = plotter.XYs

// Panel is one pair of axes with what is drawn into it, in the order of the calls.
type Panel struct{ plot *plot.Plot }

// NewPanel returns an empty panel.
func NewPanel(title string, x, y Axis) *Panel {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font.Size, p.Title.Padding = large, vg.Points(4)
	p.Title.TextStyle.Font.Variant = "Sans"
	prepare(&p.X, x, 8)
	prepare(&p.Y, y, 5)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, pale
	p.Add(grid)
	return &Panel{p}
}

// prepare gives an axis its range, with at most so many labelled ticks.
func prepare(to *plot.Axis, a Axis, most int) {
	to.Min, to.Max = a.Min, a.Max
	to.Tick.Marker = plot.TickerFunc(ticks(most))
	if a.Log {
		to.Scale, to.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	}
	to.Label.TextStyle.Font.Size, to.Tick.Label.Font.Size = small, small
	to.Label.TextStyle.Font.Variant, to.Tick.Label.Font.Variant = "Sans", "Sans"
	to.Padding = 0
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
		p.plot.Add(&plotter.Line{XYs: xys, LineStyle: c.LineStyle, StepStyle: step})
	}
	if c.Mark != nil {
		p.plot.Add(&plotter.Scatter{XYs: xys, GlyphStyle: c.glyph()})
	}
}

// Level draws a horizontal line over the whole panel.
func (p *Panel) Level(c Curve, y float64) {
	f := plotter.NewFunction(func(float64) float64 { return y })
	f.LineStyle, f.Samples = c.LineStyle, 2
	p.plot.Add(f)
}

// Shade marks a stretch of the x axis.
func (p *Panel) Shade(from, to float64) { p.plot.Add(stretch{from, to, shade}) }

// stretch is a part of the x axis, filled over the panel's whole height.
type stretch struct {
	from, to float64
	color    color.Color
}

// Plot implements plot.Plotter.
func (s stretch) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	left, right := max(x(s.from), c.Min.X), min(x(s.to), c.Max.X)
	c.FillPolygon(s.color, []vg.Point{{X: left, Y: c.Min.Y}, {X: right, Y: c.Min.Y}, {X: right, Y: c.Max.Y}, {X: left, Y: c.Max.Y}})
}
