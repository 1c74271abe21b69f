package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"math"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

func init() {
	plot.DefaultFont.Variant = "Sans"
	// The colours of Okabe and Ito, which differ for most colour-blind people:
	// https://jfly.uni-koeln.de/color/
	plotutil.DefaultColors = nil
	for _, c := range [][3]uint8{{0, 0x72, 0xB2}, {0xD5, 0x5E, 0}, {0, 0x9E, 0x73}, {0xE6, 0x9F, 0}, {0xCC, 0x79, 0xA7}, {0x56, 0xB4, 0xE9}, {0, 0, 0}} {
		plotutil.DefaultColors = append(plotutil.DefaultColors, color.RGBA{c[0], c[1], c[2], 0xFF})
	}
}

// width is the width of every figure. The text is legible at half the width.
const width = 7.2 * vg.Inch

// Figure is plots, one above the other, under one legend.
type Figure struct {
	// Name is the file's name without extension.
	Name, Caption string
	Plots         []*plot.Plot
	// Height is the height of each plot, and Columns the number of plots side by side; 0: one.
	Height  vg.Length
	Columns int
	Legend  plot.Legend
}

// newFigure returns a figure without plots, whose plots will have that height.
func newFigure(name, caption string, height vg.Length) *Figure {
	f := &Figure{Name: name, Caption: caption, Height: height, Legend: plot.NewLegend()}
	f.Legend.Top, f.Legend.Left, f.Legend.Padding, f.Legend.ThumbnailWidth = true, true, vg.Points(2), vg.Points(28)
	return f
}

// plot adds a plot below the others. The title says what y is: gonum's label of a low axis takes the room of the data.
func (f *Figure) plot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Title.Padding = title, vg.Points(2)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color, grid.Horizontal.Dashes = nil, color.Gray{0xD8}, nil
	p.Add(grid)
	f.Plots = append(f.Plots, p)
	return p
}

// nth returns the style of the nth of several curves, and of its points. They differ in
// dashes and shapes too, not in colour alone.
func nth(n int) (draw.LineStyle, draw.GlyphStyle) {
	c := plotutil.Color(n)
	return draw.LineStyle{Color: c, Width: vg.Points(1.7), Dashes: plotutil.Dashes(n)},
		draw.GlyphStyle{Color: c, Radius: vg.Points(3.2), Shape: plotutil.Shape(n)}
}

// logarithmic makes an axis logarithmic, from one power of ten to another around its data; without data
// greater than 0 it ends at 1. It begins a hair below the power, or gonum may have no tick there.
func logarithmic(a *plot.Axis) {
	if !(a.Min > 0 && a.Min <= a.Max && a.Max < math.MaxFloat64) {
		a.Min, a.Max = 1, 1
	}
	low, high := math.Floor(math.Log10(a.Min)), math.Ceil(math.Log10(a.Max))
	a.Min, a.Max = 0.999*math.Pow10(int(min(low, high-1))), math.Pow10(int(high))
	a.Scale, a.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
}

func (f Figure) draw(c draw.Canvas) {
	// A dark screen inverts what is drawn. It does not invert the background of an SVG that is a file.
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	rows := slices.Collect(slices.Chunk(f.Plots, max(1, f.Columns)))
	tiles := draw.Tiles{Cols: max(1, f.Columns), Rows: len(rows), PadTop: f.legendHeight(), PadLeft: vg.Points(6), PadRight: vg.Points(10), PadX: vg.Points(8), PadY: vg.Points(4)}
	for i, at := range plot.Align(rows, tiles, c) {
		for j := range at {
			rows[i][j].Draw(at[j])
		}
	}
	f.Legend.Draw(draw.Crop(c, vg.Points(40), 0, 0, -vg.Points(4)))
}

func (f Figure) legendHeight() vg.Length {
	return f.Legend.Rectangle(draw.Canvas{}).Size().Y + vg.Points(10)
}

func (f Figure) height() vg.Length {
	return f.legendHeight() + vg.Length(len(f.Plots)/max(1, f.Columns))*f.Height
}

// frame is an SVG around gonum's: it has its fonts, or others of the same measures, and
// is dark if the reader's screen is.
const frame = `<svg class="figure" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" aria-label="%s" width="%.0f" height="%.0f" viewBox="0 0 %[2]g %[3]g">
<style>.figure text{font-family:'Liberation Sans',Arial,Helvetica,sans-serif!important}@media(prefers-color-scheme:dark){.figure{filter:invert(.92) hue-rotate(180deg) brightness(1.3)}}</style>
%[4]s</svg>
`

// SVG returns the figure as a file, or as an element of a page.
func (f Figure) SVG() ([]byte, error) {
	canvas := vgsvg.New(width, f.height())
	f.draw(draw.New(canvas))
	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	_, picture, _ := bytes.Cut(b.Bytes(), []byte("<svg ")) // without the head of a file
	return fmt.Appendf(nil, frame, html.EscapeString(f.Caption), width.Dots(96), f.height().Dots(96), "<svg "+string(picture)), err
}

// Write writes the figures into the directory, as SVG.
func Write(dir string, figures []Figure) error {
	for _, f := range figures {
		b, err := f.SVG()
		if err == nil {
			err = cli.WriteFile(filepath.Join(dir, f.Name+".svg"), b, 0o644)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, f.Name+".svg"), cli.Reason(err))
		}
	}
	return nil
}
