package chart

import (
	_ "embed"
	"html/template"
	"io"
	"slices"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

var (
	//go:embed page.html.tmpl
	pageText string
	//go:embed page.css
	css string

	page = template.Must(template.New("page").Funcs(template.FuncMap{"svg": func(f Figure) (template.HTML, error) {
		svg, err := f.SVG()
		return template.HTML(svg), err // SVG escapes the texts
	}}).Parse(pageText))
)

// chapter is the studies of one text.
type chapter struct {
	scenario.Chapter
	Sections []section
}

// section is a study with all that there is to show.
type section struct {
	experiment.Study
	Figures []Figure
	// Numbers are ours next to the numbers of the source, Unmet the number that are not as expected; Measures are all.
	Numbers, Measures table.Table
	Unmet             int
}

func newSection(s experiment.Study) section {
	x := section{Study: s, Figures: Figures(s), Measures: newTable(s, label)}
	x.Numbers = table.New(1, "number", "the source says", "ours")
	for _, v := range s.Verdicts() {
		ours := table.Cell{Text: v.Shown()}
		if !v.Met {
			ours = table.Cell{Text: v.Shown() + " (not as expected)", Bad: true}
			x.Unmet++
		}
		x.Numbers.Rows = append(x.Numbers.Rows, []table.Cell{{Text: v.Name(label)}, {Text: v.Says}, ours})
	}
	return x
}

// Page writes the page of the scenarios of the texts, in chapters: for a screen, light or dark, wide or narrow. It is
// one file that needs no other and no network.
func Page(w io.Writer, story []experiment.Study) error {
	var shown struct {
		CSS            template.CSS
		Numbers, Unmet int
		Chapters       []chapter
	}
	shown.CSS = template.CSS(css)
	for _, c := range scenario.Index.Chapters {
		x := chapter{Chapter: c}
		for _, s := range story {
			if !slices.Contains(c.Scenarios, s.Name) {
				continue
			}
			section := newSection(s)
			x.Sections = append(x.Sections, section)
			shown.Numbers += len(section.Numbers.Rows)
			shown.Unmet += section.Unmet
		}
		if len(x.Sections) > 0 {
			shown.Chapters = append(shown.Chapters, x)
		}
	}
	return page.Execute(w, shown)
}
