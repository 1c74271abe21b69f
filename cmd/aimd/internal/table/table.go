// Package table is the one form of tables, for terminals and for pages.
package table

import (
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// Table is rows of as many cells as there are columns. The last columns are the least
// important: a narrow terminal cuts them off.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// New is a table without rows. The first columns, so many, are text.
func New(left int, heads ...string) (t Table) {
	for i, head := range heads {
		t.Columns = append(t.Columns, Column{head, i < left})
	}
	return t
}

// Column is the head of a column. Left aligns it to the left, as text.
type Column struct {
	Head string
	Left bool
}

// Cell is a text in a table.
type Cell struct {
	Text string
	// Around is a smaller text below, such as a range.
	Around string
	// Bad cells are red if there is colour.
	Bad bool
}

// Write writes the table; a terminal cuts long rows off.
func (t Table) Write(w io.Writer) error {
	_, err := io.WriteString(terminal.Raw(w), t.render(terminal.Columns(w), terminal.Colour(w)))
	return err
}

// render draws the table in that width; 0 stands for no limit. Its only control characters are colours.
func (t Table) render(width int, colour bool) string {
	w := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Size.WidthMax = width
	w.SetStyle(style)
	var head table.Row
	var configs []table.ColumnConfig
	for i, c := range t.Columns {
		head = append(head, terminal.Clean(c.Head))
		align := text.AlignRight
		if c.Left {
			align = text.AlignLeft
		}
		configs = append(configs, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	w.SetColumnConfigs(configs)
	w.AppendHeader(head)
	for _, r := range t.Rows {
		w.AppendRow(line(r, colour, func(c Cell) string { return c.Text }))
		if slices.ContainsFunc(r, func(c Cell) bool { return c.Around != "" }) {
			w.AppendRow(line(r, colour, func(c Cell) string { return c.Around }))
		}
	}
	return w.Render() + "\n"
}

func line(cells []Cell, colour bool, of func(Cell) string) (row table.Row) {
	for _, c := range cells {
		s := terminal.Clean(of(c))
		if c.Bad && colour {
			s = "\x1b[31m" + s + "\x1b[0m"
		}
		row = append(row, s)
	}
	return row
}

// Paragraphs writes the texts that are not empty, each on a new line, in lines of at most 100 characters.
func Paragraphs(w io.Writer, texts ...string) error {
	width := 100
	if columns := terminal.Columns(w); columns > 0 {
		width = min(width, columns)
	}
	var out strings.Builder
	for _, s := range texts {
		for line := range strings.Lines(text.WrapSoft(s, width)) {
			if line = strings.TrimRight(line, " \n"); line != "" {
				out.WriteString(line + "\n")
			}
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
