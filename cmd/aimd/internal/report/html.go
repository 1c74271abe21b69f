package report

import (
	_ "embed"
	"html/template"
	"io"
)

//go:embed page.html.tmpl
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// HTML writes the report as one page that needs nothing else: no network, no
// other file, no script.
func (r Report) HTML(w io.Writer) error {
	type drawing struct {
		SVG     template.HTML
		Caption string
	}
	type line struct {
		Label string
		Cells []string
		Lost  bool
	}
	data := struct {
		Report
		Columns  []string
		Rows     []line
		Notes    []string
		Drawings []drawing
	}{Report: r, Columns: r.columns(), Notes: r.notes()}
	for _, x := range r.Results {
		cells := row(x)
		data.Rows = append(data.Rows, line{Label: cells[0], Cells: cells[1:], Lost: x.Lost > 0})
	}
	for _, f := range r.figures() {
		svg, err := f.SVG()
		if err != nil {
			return err
		}
		// The SVG is our own; the texts in it are escaped by what draws it.
		data.Drawings = append(data.Drawings, drawing{template.HTML(svg), f.Caption})
	}
	return page.Execute(w, data)
}
