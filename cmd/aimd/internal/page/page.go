// Package page is the one form of HTML pages: for a screen, light or dark, wide or
// narrow. A page is one file that needs no other and no network.
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
	// Command is the command line that made the page.
	Command string
}

// Chapter is sections under a title, if it has one.
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
	// Claim is a quote of the source about it.
	Claim string
	// Numbers are the measured numbers next to the numbers of the source. Unmet is how many
	// differ from the expectation.
	Numbers table.Table
	Unmet   int
	// Table is shown at once, or behind Summary if that is given.
	Table   table.Table
	Summary string
	Notes   []string
	Figures []figure.Figure
}

// HTML writes the page.
func (p Page) HTML(w io.Writer) error {
	return form.Execute(w, struct {
		Page
		CSS template.CSS
	}{p, template.CSS(css)})
}
