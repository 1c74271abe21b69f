package figure

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The colours of Okabe and Ito, which most people can tell apart:
// https://jfly.uni-koeln.de/color/
var (
	Blue       = color.RGBA{0x00, 0x72, 0xB2, 0xFF}
	Orange     = color.RGBA{0xE6, 0x9F, 0x00, 0xFF}
	Vermillion = color.RGBA{0xD5, 0x5E, 0x00, 0xFF}
	Green      = color.RGBA{0x00, 0x9E, 0x73, 0xFF}
	Purple     = color.RGBA{0xCC, 0x79, 0xA7, 0xFF}
	Sky        = color.RGBA{0x56, 0xB4, 0xE9, 0xFF}
	Black      = color.RGBA{0x00, 0x00, 0x00, 0xFF}
	// The grid and the shade are what they are on any background.
	pale  = color.NRGBA{A: 0x48}
	shade = color.NRGBA{A: 0x18}
)

// Curve is how a curve looks and what it stands for. Curves of one panel differ in
// dashes or marks too, not in colour alone.
type Curve struct {
	Text string
	draw.LineStyle
	// Mark stands at every point; nil: none.
	Mark draw.GlyphDrawer
}

// Line is a curve of this width in points, with dashes and gaps of these
// lengths in points; none: one line.
func Line(text string, c color.Color, width float64, dashes ...float64) Curve {
	l := draw.LineStyle{Color: c, Width: vg.Points(width)}
	for _, d := range dashes {
		l.Dashes = append(l.Dashes, vg.Points(d))
	}
	return Curve{Text: text, LineStyle: l}
}

// Area is what stands for a stretch of the x axis in the legend.
func Area(text string) Curve { return Line(text, shade, 14) }

// Nth is the look of the nth of several curves, from 0 on; it begins again after
// the eighth, with thinner lines.
func Nth(text string, n int) Curve {
	looks := []struct {
		color  color.Color
		dashes []float64
		mark   draw.GlyphDrawer
	}{
		{Blue, nil, draw.CircleGlyph{}},
		{Vermillion, []float64{7, 3}, draw.BoxGlyph{}},
		{Green, []float64{2, 2.5}, draw.PyramidGlyph{}},
		{Orange, []float64{11, 3, 2, 3}, draw.RingGlyph{}},
		{Purple, nil, draw.SquareGlyph{}},
		{Sky, []float64{7, 3}, draw.TriangleGlyph{}},
		{Black, []float64{2, 2.5}, draw.CrossGlyph{}},
		{Black, nil, draw.PlusGlyph{}},
	}
	l := looks[n%len(looks)]
	width := 2.2
	if n >= len(looks) {
		width = 1.1
	}
	c := Line(text, l.color, width, l.dashes...)
	c.Mark = l.mark
	return c
}

func (c Curve) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: c.Color, Radius: vg.Points(3.5), Shape: c.Mark}
}
