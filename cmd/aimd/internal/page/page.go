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

// Section is the text, the numbers, the table and the figures of one subject.
type Section struct {
	// Name identifies the section, Title describes it. Both may be "".
	Name, Title string
	// Claim is a quote of the source about it.
	Claim   string
	Numbers []Number
	// Table is shown at once, or behind Summary if that is given.
	Table   table.Table
	Summary string
	Notes   []string
	Figures []figure.Figure
}

// Number is a measured number, and the number of the source.
type Number struct {
	// Theirs is the number of the source, "" if it has no such number.
	What, Theirs, Ours string
	// Met: ours is as expected.
	Met bool
}

// Claims are the numbers that the source says too.
func (s Section) Claims() (all []Number) {
	for _, n := range s.Numbers {
		if n.Theirs != "" {
			all = append(all, n)
		}
	}
	return all
}

// Met reports whether all of the section's numbers are as expected.
func (s Section) Met() bool { return s.count(false) == 0 }

func (s Section) count(met bool) (n int) {
	for _, x := range s.Numbers {
		if x.Met == met {
			n++
		}
	}
	return n
}

// Score is how many of the page's numbers are as expected, and how many are not.
func (p Page) Score() (met, unmet int) {
	for _, c := range p.Chapters {
		for _, s := range c.Sections {
			met, unmet = met+s.count(true), unmet+s.count(false)
		}
	}
	return met, unmet
}

// HTML writes the page.
func (p Page) HTML(w io.Writer) error {
	return form.Execute(w, struct {
		Page
		CSS template.CSS
	}{p, template.CSS(css)})
}
