// Package figure makes files and elements of a page of gonum's plots.
package figure

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// width is the width of every figure. The text is legible at half the width.
const width = 7.2 * vg.Inch

// Figure is plots, one above the other, under one legend.
type Figure struct {
	// Name is the file's name without extension.
	Name    string
	Caption string
	Plots   []*plot.Plot
	// Height is the height of each plot.
	Height vg.Length
	legend []entry
}

type entry struct {
	text  string
	looks []plot.Thumbnailer
}

// Explain adds a line to the legend.
func (f *Figure) Explain(text string, looks ...plot.Thumbnailer) {
	f.legend = append(f.legend, entry{text, looks})
}

// legends returns the legend in as many columns as fit.
func (f Figure) legends() []plot.Legend {
	fill := func(some []entry) plot.Legend {
		l := plot.NewLegend()
		l.Top, l.Left, l.Padding, l.ThumbnailWidth = true, true, vg.Points(3), vg.Points(28)
		for _, e := range some {
			l.Add(e.text, e.looks...)
		}
		return l
	}
	all := fill(f.legend)
	// A browser without the font may need 15% more.
	columns := max(1, min(len(f.legend), int(width/(1.15*all.Rectangle(draw.Canvas{}).Size().X+vg.Points(18)))))
	legends := make([]plot.Legend, columns)
	for i := range legends {
		legends[i] = fill(f.legend[i*len(f.legend)/columns : (i+1)*len(f.legend)/columns])
	}
	return legends
}

func (f Figure) legendHeight() (height vg.Length) {
	for _, l := range f.legends() {
		height = max(height, l.Rectangle(draw.Canvas{}).Size().Y)
	}
	return height + vg.Points(10)
}

func (f Figure) height() vg.Length { return f.legendHeight() + vg.Length(len(f.Plots))*f.Height }

func (f Figure) draw(c draw.Canvas) {
	legends := f.legends()
	for i := range legends {
		legends[i].Draw(draw.Tiles{Cols: len(legends), Rows: 1, PadTop: vg.Points(6), PadLeft: vg.Points(40)}.At(c, i, 0))
	}
	rows := make([][]*plot.Plot, len(f.Plots))
	for i, p := range f.Plots {
		rows[i] = []*plot.Plot{p}
	}
	tiles := draw.Tiles{Cols: 1, Rows: len(rows), PadTop: f.legendHeight(), PadLeft: vg.Points(6), PadRight: vg.Points(10), PadY: vg.Points(4)}
	for i, at := range plot.Align(rows, tiles, c) {
		f.Plots[i].Draw(at[0])
	}
}

// frame is an SVG around gonum's: it has its fonts, or others of the same measures, and
// is dark if the reader's screen is.
const frame = `<svg class="figure" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" aria-label="%s" width="%.0f" height="%.0f" viewBox="0 0 %[2]g %[3]g">
<style>.figure{background:#fff}.figure text{font-family:'Liberation Sans',Arial,Helvetica,sans-serif!important}@media(prefers-color-scheme:dark){.figure{filter:invert(.92) hue-rotate(180deg)}}</style>
%[4]s</svg>
`

// SVG returns the figure as a file, or as an element of a page.
func (f Figure) SVG() ([]byte, error) {
	canvas := vgsvg.New(width, f.height())
	f.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("drawing %s.svg: %w", f.Name, err)
	}
	_, picture, _ := strings.Cut(b.String(), "<svg ") // without the head of a file
	return fmt.Appendf(nil, frame, html.EscapeString(f.Caption), width.Dots(96), f.height().Dots(96), "<svg "+picture), nil
}

// PNG returns the figure as a picture on white.
func (f Figure) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(width, f.height()), vgimg.UseDPI(168))
	f.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&b); err != nil {
		return nil, fmt.Errorf("drawing %s.png: %w", f.Name, err)
	}
	return b.Bytes(), nil
}

// Form is a form of a figure's file: SVG or PNG.
type Form struct {
	extension string
	draw      func(Figure) ([]byte, error)
}

// The forms of Write.
var (
	SVG = Form{".svg", Figure.SVG}
	PNG = Form{".png", Figure.PNG}
)

// Write writes the figures into the directory that a flag names, in each of the forms,
// and returns the names of the files. If dir is "", it returns at once.
func Write(flag, dir string, figures []Figure, forms ...Form) (files []string, err error) {
	if dir == "" {
		return nil, nil
	}
	for _, f := range figures {
		for _, form := range forms {
			file := filepath.Join(dir, f.Name+form.extension)
			b, err := form.draw(f)
			if err == nil {
				err = os.WriteFile(file, b, 0o644)
			}
			if err != nil {
				return files, fmt.Errorf("--%s: %w", flag, err)
			}
			files = append(files, file)
		}
	}
	return files, nil
}
