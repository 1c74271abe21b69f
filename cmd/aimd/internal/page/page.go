// Package page is the form of the page of aimd sim figures: for a screen, light or dark, wide or
// narrow. The page is one file that needs no other and no network.
package page

import (
	_ "embed"
	"html/template"
	"io"

	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

var (
	//go:embed page.html.tmpl
	text string
	//go:embed page.css
	css string

	form = template.Must(template.New("page").Funcs(template.FuncMap{"svg": func(f figure.Figure) (template.HTML, error) {
		svg, err := f.SVG()
		return template.HTML(svg), err // package figure escapes the texts
	}}).Parse(text))
)

// Page is chapters under a title. All texts are plain text.
type Page struct {
	Title string
	// Verdict is the result in a line, or several.
	Verdict []string
	// Intro are paragraphs.
	Intro    []string
	Chapters []Chapter
}

// Chapter is sections under a title.
type Chapter struct {
	Title string
	// Source is the text that the chapter is about, if any.
	Source   Source
	Text     []string
	Sections []Section
}

// Source is a published text.
type Source struct{ Title, Author, Year, URL string }

// Section is the text, the tables and the figures of one subject.
type Section struct {
	// Name identifies the section, Title describes it. Both may be "".
	Name, Title string
	// Claim is a sentence about it, in quotation marks if it is the words of the source.
	Claim string
	// Numbers are the measured numbers next to the numbers of the source. Unmet is how many
	// differ from the expectation.
	Numbers table.Table
	Unmet   int
	// Table is shown behind Summary.
	Table   table.Table
	Summary string
	Figures []figure.Figure
}

// HTML writes the page.
func (p Page) HTML(w io.Writer) error {
	return form.Execute(w, struct {
		Page
		CSS template.CSS
	}{p, template.CSS(css)})
}
