package chart

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/aimd-go/aimd/cmd/aimd/internal/experiment"
)

//go:embed page.html.tmpl
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// Page is a story: chapters with studies.
type Page struct {
	Title, Intro string
	Chapters     []Chapter
	// Command is what was run.
	Command string
}

// Chapter is some studies under one title.
type Chapter struct {
	Title string
	// Text are paragraphs.
	Text    []string
	Studies []experiment.Study
}

// What the template shows of a study.
type (
	section struct {
		Name, Title, Claim string
		Runs               int
		Numbers            []comparison
		Figures            []drawn
		Head               []string
		Rows               []tableRow
	}
	comparison struct {
		What, Theirs, Ours string
		Met                bool
	}
	drawn struct {
		SVG     template.HTML
		Caption string
	}
	tableRow struct {
		At    []string
		Label string
		Cells []tableCell
	}
	tableCell struct{ Median, Around string }
)

// HTML writes the page such that it needs nothing else: no network, no other file, no
// script.
func (p Page) HTML(w io.Writer) error {
	type chapter struct {
		Title    string
		Text     []string
		Sections []section
	}
	data := struct {
		Page
		Chapters []chapter
	}{Page: p}
	for _, c := range p.Chapters {
		one := chapter{Title: c.Title, Text: c.Text}
		for _, s := range c.Studies {
			x, err := newSection(s)
			if err != nil {
				return err
			}
			one.Sections = append(one.Sections, x)
		}
		data.Chapters = append(data.Chapters, one)
	}
	return page.Execute(w, data)
}

func newSection(s experiment.Study) (section, error) {
	x := section{Name: s.Name, Title: s.Title, Claim: s.Claim, Runs: s.WithDefaults().Runs}
	if x.Title == "" {
		x.Title = s.Name
	}
	for _, v := range s.Verdicts() {
		x.Numbers = append(x.Numbers, comparison{what(v), v.Says, v.Shown(), v.Met})
	}
	for _, f := range Figures(s) {
		svg, err := f.SVG()
		if err != nil {
			return x, err
		}
		// The SVG is our own; the texts in it are escaped by what draws it.
		x.Figures = append(x.Figures, drawn{template.HTML(svg), f.Caption})
	}
	names := measures(s)
	for _, w := range s.Sweep {
		x.Head = append(x.Head, label(w.Field))
	}
	x.Head = append(x.Head, "strategy")
	for _, m := range names {
		x.Head = append(x.Head, Head(m))
	}
	for _, r := range s.Rows {
		row := tableRow{Label: r.Strategy.Name}
		for _, at := range r.At {
			_, v, _ := strings.Cut(at, "=")
			row.At = append(row.At, v)
		}
		for _, m := range names {
			median, around := cell(r.Of(m))
			row.Cells = append(row.Cells, tableCell{median, around})
		}
		x.Rows = append(x.Rows, row)
	}
	return x, nil
}

// Theirs reports whether the source of any number says one too.
func (s section) Theirs() bool {
	return slices.ContainsFunc(s.Numbers, func(c comparison) bool { return c.Theirs != "" })
}

// what is what a number is about.
func what(v experiment.Verdict) string {
	s := v.Strategy + ": " + label(v.Measure)
	if v.Over != "" {
		s += ", over that of " + v.Over
	}
	for i, at := range v.At {
		field, x, _ := strings.Cut(at, "=")
		joint := ", at "
		if i > 0 {
			joint = " and "
		}
		s += joint + label(field) + " " + x
	}
	return s
}
