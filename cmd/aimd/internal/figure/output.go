package figure

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Parts of gonum's SVG that a page does not want, or wants better: the fonts
// of the same measures where Liberation is not there, a size that fits.
var (
	prologue = regexp.MustCompile(`(?s)^.*?<svg width="[^"]*" height="[^"]*"`)
	family   = regexp.MustCompile(`font-family:Liberation Sans`)
)

const families = `font-family:'Liberation Sans',Arial,Helvetica,sans-serif`

// SVG returns the figure as an element that can stand in a page.
func (f Figure) SVG() ([]byte, error) {
	canvas := vgsvg.New(width, f.height())
	f.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("drawing %s.svg: %w", f.Name, err)
	}
	size := fmt.Sprintf(`<svg width="%.0f" height="%.0f"`, width.Dots(96), f.height().Dots(96))
	s := prologue.ReplaceAllLiteral(b.Bytes(), []byte(size))
	return family.ReplaceAllLiteral(s, []byte(families)), nil
}

// PNG returns the figure as a picture of 1200 pixels across.
func (f Figure) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(width, f.height()), vgimg.UseDPI(dpi))
	f.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(&b); err != nil {
		return nil, fmt.Errorf("drawing %s.png: %w", f.Name, err)
	}
	return b.Bytes(), nil
}

// WriteSVG writes the figure into the directory and returns the file's name.
func (f Figure) WriteSVG(dir string) (string, error) { return f.write(dir, ".svg", f.SVG) }

// WritePNG writes the figure into the directory and returns the file's name.
func (f Figure) WritePNG(dir string) (string, error) { return f.write(dir, ".png", f.PNG) }

func (f Figure) write(dir, ext string, form func() ([]byte, error)) (string, error) {
	b, err := form()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, f.Name+ext)
	return file, os.WriteFile(file, b, 0o644)
}
