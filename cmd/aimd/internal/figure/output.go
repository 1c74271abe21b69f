package figure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"image/color"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// gonum's prologue, which a page does not want.
var prologue = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*"`)

// own makes gonum's SVG ours: the fonts of the same measures where Liberation is not
// there, and for black the colour of the text around it.
var own = strings.NewReplacer(
	"font-family:Liberation Sans", "font-family:'Liberation Sans',Arial,Helvetica,sans-serif",
	"stroke:#000000", "stroke:currentColor",
)

// paper makes a file of its own legible on a dark page as well: by its own colours
// where the reader understands these, on white where it does not.
const paper = `<style>svg{color:#1a1a1a}@media(prefers-color-scheme:dark){svg{color:#e6edf3}.paper{fill:#0d1117}}</style>
<rect class="paper" width="100%" height="100%" fill="#fff"/>
`

// SVG returns the figure as an element that can stand in a page. It has the page's
// background, the colour of its text, and for a script the data-pointer of a Reading.
func (f Figure) SVG() ([]byte, error) {
	s, frames, err := f.svg()
	if err != nil {
		return nil, err
	}
	pointer, err := f.reading(frames)
	if err != nil {
		return nil, err
	}
	return bytes.Replace(s, []byte("<svg "), []byte(`<svg data-pointer="`+pointer+`" `), 1), nil
}

func (f Figure) svg() ([]byte, []vg.Rectangle, error) {
	canvas := vgsvg.New(width, f.height())
	frames := f.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, nil, fmt.Errorf("drawing %s.svg: %w", f.Name, err)
	}
	size := fmt.Sprintf(`<svg fill="currentColor" width="%.0f" height="%.0f"`, width.Dots(96), f.height().Dots(96))
	return []byte(own.Replace(string(prologue.ReplaceAllLiteral(b.Bytes(), []byte(size))))), frames, nil
}

func (f Figure) file() ([]byte, error) {
	s, _, err := f.svg()
	if err != nil {
		return nil, err
	}
	end := bytes.IndexByte(s, '>') + 1
	return bytes.Join([][]byte{s[:end], []byte(paper), s[end:]}, []byte("\n")), nil
}

// PNG returns the figure as a picture of 1200 pixels across, on white.
func (f Figure) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(width, f.height()), vgimg.UseDPI(dpi))
	f.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&b); err != nil {
		return nil, fmt.Errorf("drawing %s.png: %w", f.Name, err)
	}
	return b.Bytes(), nil
}

// The forms of Write.
const (
	SVG = ".svg"
	PNG = ".png"
)

// Write writes the figures into the directory that a flag names, in each of the forms,
// and returns the names of the files; "" is none.
func Write(flag, dir string, figures []Figure, forms ...string) (files []string, err error) {
	if dir == "" {
		return nil, nil
	}
	for _, f := range figures {
		for _, form := range forms {
			draw := f.file
			if form == PNG {
				draw = f.PNG
			}
			file := filepath.Join(dir, f.Name+form)
			b, err := draw()
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

// Reading is what a script needs to tell the values under the pointer, in the
// coordinates of the SVG, whose y grows upwards within its group.
type Reading struct {
	X      string  `json:"x"`
	Height float64 `json:"h"`
	// Panels have the axes x and y.
	Panels []map[string]axisFrame `json:"panels"`
	Curves []curveToRead          `json:"curves"`
}

// axisFrame is where an axis is, and what it says there.
type axisFrame struct {
	From   float64  `json:"from"`
	To     float64  `json:"to"`
	Min    float64  `json:"min"`
	Max    float64  `json:"max"`
	Log    bool     `json:"log,omitempty"`
	Labels []string `json:"labels,omitempty"`
}

type curveToRead struct {
	Text  string `json:"text"`
	Style string `json:"style"`
}

// reading is the figure's, as the value of an attribute.
func (f Figure) reading(frames []vg.Rectangle) (string, error) {
	r := Reading{X: f.X, Height: f.height().Points(), Curves: []curveToRead{}}
	for i, p := range f.Panels {
		at := frames[i]
		r.Panels = append(r.Panels, map[string]axisFrame{
			"x": {at.Min.X.Points(), at.Max.X.Points(), p.plot.X.Min, p.plot.X.Max, p.x.Log, p.x.Labels},
			"y": {at.Min.Y.Points(), at.Max.Y.Points(), p.plot.Y.Min, p.plot.Y.Max, p.y.Log, p.y.Labels},
		})
	}
	for _, c := range f.Legend {
		if c.Width < vg.Points(5) { // wider ones are areas
			r.Curves = append(r.Curves, curveToRead{c.Text, c.style()})
		}
	}
	b, err := json.Marshal(r)
	return html.EscapeString(string(b)), err
}

// style is what the SVG says of the curve's path.
func (c Curve) style() string {
	r, g, b, _ := c.Color.RGBA()
	s := fmt.Sprintf("fill:none;stroke:#%02X%02X%02X;stroke-width:%.5g", r>>8, g>>8, b>>8, c.Width.Points())
	if c.Color == color.Color(Black) {
		s = own.Replace(s)
	}
	var dashes []string
	for _, d := range c.Dashes {
		dashes = append(dashes, fmt.Sprintf("%.5g", d.Points()))
	}
	if len(dashes) > 0 {
		s += ";stroke-dasharray:" + strings.Join(dashes, ",")
	}
	return s
}
