package report

import (
	"fmt"
	"io"

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

	out := ""
	for _, s := range []string{r.Title, r.Service, r.Optimum} {
		if s != "" {
			out += text.WrapSoft(s, noteWidth) + "\n"
		}
	}
	out += t.Render() + "\n"
	for _, note := range r.notes() {
		out += text.WrapSoft(note, noteWidth) + "\n"
	}
	_, err := fmt.Fprint(w, out)
	return err
}

func cells(texts []string) table.Row {
	var row table.Row
	for _, s := range texts {
		row = append(row, s)
	}
	return row
}
