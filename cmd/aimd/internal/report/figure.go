package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"regexp"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The colours of Okabe and Ito, which most people can tell apart:
// https://jfly.uni-koeln.de/color/
var (
	blue       = color.RGBA{0x00, 0x72, 0xB2, 0xFF}
	orange     = color.RGBA{0xE6, 0x9F, 0x00, 0xFF}
	vermillion = color.RGBA{0xD5, 0x5E, 0x00, 0xFF}
	black      = color.RGBA{0x00, 0x00, 0x00, 0xFF}
	pale       = color.RGBA{0xD0, 0xD0, 0xD0, 0xFF}
)

// Sizes, chosen so that the text is legible at half the size.
const (
	width        = 10 * vg.Inch
	legendHeight = 0.5 * vg.Inch
	// axisHeight is what the labels of the time axis take, below the last panel.
	axisHeight   = 0.6 * vg.Inch
	small, large = 15, 17
	dpi          = 120
)

// curve is a line style and what it stands for. Curves differ in dashes too, not in
// colour alone.
type curve struct {
	text  string
	style draw.LineStyle
}

func lineStyle(c color.Color, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}

// figure is some panels of the same width, one above the other, under a legend.
type figure struct {
	// name is the file's name without extension.
	name    string
	caption string
	legend  []curve
	panels  []*plot.Plot
	// y is the label of the panels' y axes.
	y string
	// panelHeight is the height of each panel without the time axis's labels.
	panelHeight vg.Length
}

func (f figure) height() vg.Length {
	return legendHeight + vg.Length(len(f.panels))*f.panelHeight + axisHeight
}

// panel is an empty panel from 0 to right and from bottom to top.
func panel(title string, right, bottom, top float64) *plot.Plot {
	p := plot.New()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, right, bottom, top
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(ticks(8)), plot.TickerFunc(ticks(5))
	p.Title.Text = title
	p.Title.TextStyle.Font.Size, p.Title.Padding = large, vg.Points(4)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = small, small
		a.Label.TextStyle.Font.Variant, a.Tick.Label.Font.Variant = "Sans", "Sans"
		a.Padding = 0
	}
	p.Title.TextStyle.Font.Variant = "Sans"
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = nil, pale
	p.Add(grid)
	return p
}

// add draws a curve into the panel. Points that are outside of it are left out.
func add(p *plot.Plot, c curve, step plotter.StepKind, xys plotter.XYs) {
	line := &plotter.Line{XYs: xys, LineStyle: c.style, StepStyle: step}
	p.Add(line)
}

// level is a horizontal line over the whole panel.
func level(c curve, y float64) *plotter.Function {
	f := plotter.NewFunction(func(float64) float64 { return y })
	f.LineStyle, f.Samples = c.style, 2
	return f
}

// draw draws the whole figure. The labels of the axes, which are the same for
// all panels, stand once. (gonum's own label would stand too high at a
// logarithmic axis.)
func (f figure) draw(c draw.Canvas) {
	f.drawLegend(draw.Crop(c, 0, 0, c.Max.Y-c.Min.Y-legendHeight, 0))
	c = draw.Crop(c, 0, -vg.Points(14), vg.Points(4), -legendHeight)
	label := f.panels[0].X.Label.TextStyle
	label.XAlign, label.YAlign, label.Rotation = draw.XCenter, draw.YTop, math.Pi/2
	c.FillText(label, vg.Point{X: c.Min.X, Y: (c.Min.Y + axisHeight + c.Max.Y) / 2}, f.y)
	c = draw.Crop(c, label.Height(f.y)+vg.Points(8), 0, 0, 0)

	last := len(f.panels) - 1
	// What stands beside the data, in the panels that need most.
	var left, right vg.Length
	for i, p := range f.panels {
		if i == last {
			p.X.Label.Text = "time (s)"
		} else {
			p.X.Tick.Marker = unlabelled{p.X.Tick.Marker}
			p.X.Tick.Label.Font.Size = 1
		}
		data := p.DataCanvas(c)
		left, right = max(left, data.Min.X-c.Min.X), max(right, c.Max.X-data.Max.X)
	}
	height := (c.Max.Y - c.Min.Y - axisHeight) / vg.Length(len(f.panels))
	for i, p := range f.panels {
		at := c
		at.Max.Y = c.Max.Y - vg.Length(i)*height
		at.Min.Y = at.Max.Y - height
		data := p.DataCanvas(at)
		at.Min.X += left - (data.Min.X - at.Min.X)
		at.Max.X -= right - (at.Max.X - data.Max.X)
		// The data end at the same height in every panel, above its labels.
		at.Min.Y -= data.Min.Y - at.Min.Y - vg.Points(14)
		p.Draw(at)
	}
}

// drawLegend draws the legend in one row.
func (f figure) drawLegend(c draw.Canvas) {
	style := f.panels[0].X.Label.TextStyle
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	x, y := c.Min.X+vg.Points(50), (c.Min.Y+c.Max.Y)/2
	for _, e := range f.legend {
		c.StrokeLine2(e.style, x, y, x+vg.Points(36), y)
		x += vg.Points(42)
		c.FillText(style, vg.Point{X: x, Y: y}, e.text)
		x += style.Width(e.text) + vg.Points(24)
	}
}

// Parts of gonum's SVG that a page does not want, or wants better: the fonts
// of the same measures where Liberation is not there, a size that fits.
var (
	prologue = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*"`)
	family   = regexp.MustCompile(`font-family:Liberation Sans`)
)

const families = `font-family:'Liberation Sans',Arial,Helvetica,sans-serif`

func (f figure) svg() ([]byte, error) {
	canvas := vgsvg.New(width, f.height())
	f.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	size := fmt.Sprintf(`<svg width="%.0f" height="%.0f"`, width.Dots(96), f.height().Dots(96))
	s := prologue.ReplaceAllLiteral(b.Bytes(), []byte(size))
	return family.ReplaceAllLiteral(s, []byte(families)), nil
}

func (f figure) png() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(width, f.height()), vgimg.UseDPI(dpi))
	f.draw(draw.New(canvas))
	var b bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(&b)
	return b.Bytes(), err
}

// Figures writes every figure into the directory, as SVG and as PNG, and
// returns the names of the files.
func (r Report) Figures(dir string) ([]string, error) {
	var files []string
	for _, f := range r.figures() {
		for _, form := range []struct {
			ext  string
			draw func() ([]byte, error)
		}{{".svg", f.svg}, {".png", f.png}} {
			b, err := form.draw()
			if err != nil {
				return files, fmt.Errorf("drawing %s%s: %w", f.name, form.ext, err)
			}
			file := filepath.Join(dir, f.name+form.ext)
			if err := os.WriteFile(file, b, 0o644); err != nil {
				return files, err
			}
			files = append(files, file)
		}
	}
	return files, nil
}
