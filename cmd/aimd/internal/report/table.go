package report

import (
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// noteWidth is where notes are wrapped, in characters.
const noteWidth = 100

// Table writes the report as text.
func (r Report) Table(w io.Writer) error {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	var configs []table.ColumnConfig
	for i := range r.columns() {
		align := text.AlignRight
		if i == 0 {
			align = text.AlignLeft
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	t.SetColumnConfigs(configs)
	t.AppendHeader(cells(r.columns()))
	for _, x := range r.Results {
		t.AppendRow(cells(row(x)))
	}

	out := paragraphs(r.Title, r.Service, r.Optimum) + t.Render() + "\n" + paragraphs(r.notes()...)
	_, err := io.WriteString(w, out)
	return err
}

// paragraphs are the texts, each from a new line on, wrapped.
func paragraphs(texts ...string) string {
	var out strings.Builder
	for _, s := range texts {
		for line := range strings.Lines(text.WrapSoft(s, noteWidth)) {
			out.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
	}
	return out.String()
}

func cells(texts []string) table.Row {
	var row table.Row
	for _, s := range texts {
		row = append(row, s)
	}
	return row
}
