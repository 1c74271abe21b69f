package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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
