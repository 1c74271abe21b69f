// Package table is the one form of tables, for terminals and for pages.
package table

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// Table is rows of as many cells as there are columns.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Column is the head of a column, and how it is shown.
type Column struct {
	Head string
	// Left aligns it to the left, as text.
	Left bool
	// Drop says which column goes first where a terminal is too narrow: that with the
	// highest number. 0 stays.
	Drop int
}

// Cell is a text, with what there is to know of it.
type Cell struct {
	Text string
	// Around is a smaller text below, such as a range.
	Around string
	// Bad cells are red where there is colour.
	Bad bool
}

// Around is dropped before columns of this number, and after those above it.
const dropAround = 5

// Write writes the table, as wide as the terminal lets it. What is left out is told.
func (t Table) Write(w io.Writer) error {
	out, dropped := t.fit(terminal.Columns(w))
	if _, err := io.WriteString(terminal.Raw(w), out.render(terminal.Colour(w))); err != nil {
		return err
	}
	if len(dropped) == 0 {
		return nil
	}
	return Paragraphs(w, "There is no room for "+strings.Join(dropped, ", ")+".")
}

// fit is the table without what is too wide for so many columns of a terminal, 0 for no
// end to them, and what that is.
func (t Table) fit(width int) (fitted Table, dropped []string) {
	t = Table{slices.Clone(t.Columns), slices.Clone(t.Rows)}
	for i, r := range t.Rows {
		t.Rows[i] = slices.Clone(r)
	}
	for width > 0 && t.width() > width {
		most := -1
		for i, c := range t.Columns {
			if c.Drop > 0 && (most < 0 || c.Drop > t.Columns[most].Drop) {
				most = i
			}
		}
		switch {
		case (most < 0 || t.Columns[most].Drop <= dropAround) && t.dropAround():
			dropped = append(dropped, "the ranges")
		case most < 0:
			t.cut(t.width() - width)
			return t, dropped
		default:
			dropped = append(dropped, t.Columns[most].Head)
			t.drop(most)
		}
	}
	return t, dropped
}

func (t Table) width() int { return text.LongestLineLen(t.render(false)) }

func (t Table) columnWidth(i int) int {
	most := utf8.RuneCountInString(t.Columns[i].Head)
	for _, r := range t.Rows {
		most = max(most, utf8.RuneCountInString(r[i].Text), utf8.RuneCountInString(r[i].Around))
	}
	return most
}

// dropAround reports whether there was any.
func (t *Table) dropAround() (some bool) {
	for _, r := range t.Rows {
		for j := range r {
			some = some || r[j].Around != ""
			r[j].Around = ""
		}
	}
	return some
}

func (t *Table) drop(column int) {
	t.Columns = slices.Delete(t.Columns, column, column+1)
	for i, r := range t.Rows {
		t.Rows[i] = slices.Delete(r, column, column+1)
	}
}

// cut shortens the widest column of text by so much, down to a few characters.
func (t *Table) cut(by int) {
	widest := 0
	for i, c := range t.Columns {
		if c.Left && t.columnWidth(i) > t.columnWidth(widest) {
			widest = i
		}
	}
	to := max(8, t.columnWidth(widest)-by)
	t.Columns[widest].Head = terminal.Cut(t.Columns[widest].Head, to)
	for _, r := range t.Rows {
		r[widest].Text = terminal.Cut(r[widest].Text, to)
	}
}

// render draws the table. It is clean but for the colours.
func (t Table) render(colour bool) string {
	w := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
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

// textWidth is where text is wrapped at the latest, in characters.
const textWidth = 100

// Paragraphs writes the texts, each from a new line on, wrapped. Empty ones are left out.
func Paragraphs(w io.Writer, texts ...string) error {
	width := textWidth
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
