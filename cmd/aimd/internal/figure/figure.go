// Package figure draws curves and maps in panels under a legend, as SVG and as
// PNG, such that they are legible at half their size.
package figure

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes, chosen so that the text is legible at half the size.
const (
	width = 10 * vg.Inch
	// legendRow is the height of each row of the legend, margin what is above and
	// below all of them together.
	legendRow, margin = 0.3 * vg.Inch, 0.2 * vg.Inch
	// axisHeight is what the labels of the x axis take, below the last panel.
	axisHeight   = 0.6 * vg.Inch
	small, large = 15, 17
	dpi          = 120
)

// Figure is some panels of the same width, one above the other, under a legend.
type Figure struct {
	// Name is the file's name without extension.
	Name    string
	Caption string
	Legend  []Curve
	Panels  []*Panel
	// X and Y are the labels of the panels' axes, with the unit.
	X, Y string
	// PanelHeight is the height of each panel without the labels of the x axis.
	PanelHeight vg.Length
	// Note stands below all; "": nothing.
	Note string
}

func (f Figure) height() vg.Length {
	return f.legendHeight() + vg.Length(len(f.Panels))*f.PanelHeight + axisHeight + f.noteHeight()
}

func (f Figure) noteHeight() vg.Length {
	if f.Note == "" {
		return 0
	}
	return 0.12 * vg.Inch // most of it stands where the x axis leaves room
}

// draw draws the whole figure and returns where the data of each panel are. The
// labels of the axes, which are the same for all panels, stand once. (gonum's own
// label would stand too high at a logarithmic axis.)
func (f Figure) draw(c draw.Canvas) []vg.Rectangle {
	return f.drawPanels(f.drawTexts(c))
}

// drawTexts draws what stands around the panels, and returns their canvas.
func (f Figure) drawTexts(c draw.Canvas) draw.Canvas {
	f.drawLegend(draw.Crop(c, 0, 0, c.Max.Y-c.Min.Y-f.legendHeight(), 0))
	note := labelStyle()
	note.XAlign, note.YAlign = draw.XCenter, draw.YBottom
	c.FillText(note, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: c.Min.Y + vg.Points(6)}, f.Note)
	c = draw.Crop(c, 0, -vg.Points(14), vg.Points(4)+f.noteHeight(), -f.legendHeight())
	label := labelStyle()
	label.XAlign, label.YAlign, label.Rotation = draw.XCenter, draw.YTop, math.Pi/2
	c.FillText(label, vg.Point{X: c.Min.X, Y: (c.Min.Y + axisHeight + c.Max.Y) / 2}, f.Y)
	return draw.Crop(c, label.Height(f.Y)+vg.Points(8), 0, 0, 0)
}

func (f Figure) drawPanels(c draw.Canvas) (all []vg.Rectangle) {
	last := len(f.Panels) - 1
	// What stands beside the data, in the panels that need most.
	var left, right vg.Length
	for i, panel := range f.Panels {
		p := panel.plot
		if i == last {
			p.X.Label.Text = f.X
		} else {
			p.X.Tick.Marker = unlabelled{p.X.Tick.Marker}
			p.X.Tick.Label.Font.Size = 1
		}
		data := p.DataCanvas(c)
		left, right = max(left, data.Min.X-c.Min.X), max(right, c.Max.X-data.Max.X)
	}
	height := (c.Max.Y - c.Min.Y - axisHeight) / vg.Length(len(f.Panels))
	for i, panel := range f.Panels {
		at := c
		at.Max.Y = c.Max.Y - vg.Length(i)*height
		at.Min.Y = at.Max.Y - height
		data := panel.plot.DataCanvas(at)
		at.Min.X += left - (data.Min.X - at.Min.X)
		at.Max.X -= right - (at.Max.X - data.Max.X)
		// The data end at the same height in every panel, above its labels.
		at.Min.Y -= data.Min.Y - at.Min.Y - vg.Points(14)
		panel.plot.Draw(at)
		all = append(all, panel.plot.DataCanvas(at).Rectangle)
	}
	return all
}

func labelStyle() text.Style {
	style := plot.New().X.Label.TextStyle
	style.Font.Size, style.Font.Variant = small, "Sans"
	return style
}

// Widths in the legend.
const (
	legendLeft = 50 // where each row begins
	legendLine = 36 // the piece of the curve
	legendGap  = 24 // between two curves
	// wider is by how much at most a browser without our font draws a text.
	wider = 1.15
)

func (f Figure) legendRows() [][]Curve {
	style, room := labelStyle(), width-vg.Points(legendLeft)
	rows, x := [][]Curve{nil}, vg.Length(0)
	for _, e := range f.Legend {
		w := vg.Points(legendLine+6) + wider*style.Width(e.Text)
		if x > 0 && x+w > room {
			rows, x = append(rows, nil), 0
		}
		last := len(rows) - 1
		rows[last] = append(rows[last], e)
		x += w + vg.Points(legendGap)
	}
	return rows
}

func (f Figure) legendHeight() vg.Length {
	return margin + vg.Length(len(f.legendRows()))*legendRow
}

func (f Figure) drawLegend(c draw.Canvas) {
	style := labelStyle()
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	for i, row := range f.legendRows() {
		x, y := c.Min.X+vg.Points(legendLeft), c.Max.Y-margin/2-(vg.Length(i)+0.5)*legendRow
		for _, e := range row {
			end := x + vg.Points(legendLine)
			if e.Width > 0 {
				c.StrokeLine2(e.LineStyle, x, y, end, y)
			}
			if e.Mark != nil {
				c.DrawGlyph(e.glyph(), vg.Point{X: (x + end) / 2, Y: y})
			}
			x = end + vg.Points(6)
			c.FillText(style, vg.Point{X: x, Y: y}, e.Text)
			x += wider*style.Width(e.Text) + vg.Points(legendGap)
		}
	}
}
