package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
)

func markdown(w io.Writer, title string, header table.Row, rows []table.Row) {
	t := table.NewWriter()
	t.AppendHeader(header)
	t.AppendRows(rows)
	fmt.Fprintf(w, "### %s\n\n%s\n\n", title, t.RenderMarkdown())
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// cost prints the cost of acquire and release, as ratios to the reference in the same round, so
// that other work on the machine cancels out.
func (p plan) cost(ctx context.Context, w io.Writer) error {
	for _, l := range loads {
		runs := make([][]measure, len(contenders))
		ratios := make([][]float64, len(contenders))
		for round := range p.rounds {
			progress("%s: round %d of %d", l.name, round+1, p.rounds)
			var base float64
			for i, c := range contenders {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				m := l.run(c, p.turn)
				if c.name == reference {
					base = m.ns
				}
				runs[i], ratios[i] = append(runs[i], m), append(ratios[i], m.ns/base)
			}
		}
		var rows []table.Row
		for i, c := range contenders {
			rows = append(rows, costRow(c.name, l, runs[i], ratios[i]))
		}
		markdown(w, "Acquire and release, "+l.name, table.Row{"", "times the semaphore", "ns", "allocations", "Jain's index", "fewest grants"}, rows)
	}
	return nil
}

func costRow(name string, l load, runs []measure, ratios []float64) table.Row {
	of := func(f func(measure) float64) float64 {
		var all []float64
		for _, m := range runs {
			all = append(all, f(m))
		}
		return median(all)
	}
	if slices.ContainsFunc(runs, func(m measure) bool { return m.stranded }) {
		return table.Row{name, "strands waiters", "", "", "", ""}
	}
	row := table.Row{
		name, fmt.Sprintf("%.2f", median(ratios)), fmt.Sprintf("%.0f", of(func(m measure) float64 { return m.ns })),
		fmt.Sprintf("%.1f", of(func(m measure) float64 { return m.allocs })), "", "",
	}
	if l.goroutines > 1 {
		row[4] = fmt.Sprintf("%.4f", of(func(m measure) float64 { return m.jain }))
		row[5] = fmt.Sprintf("%.0f", of(func(m measure) float64 { return float64(m.least) }))
	}
	return row
}

// bounds prints the figures of this library that have a bound.
func (p plan) bounds(ctx context.Context, w io.Writer) error {
	var rows []table.Row
	for _, b := range bounds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		progress("%s", b.name)
		v, err := b.value(p.scale)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		rows = append(rows, table.Row{b.name, fmt.Sprintf("%.2f %s", v, b.unit), fmt.Sprintf("%g", b.most)})
	}
	markdown(w, fmt.Sprintf("At a scale of %d", p.scale), table.Row{"", "measured", "at most"}, rows)
	return nil
}

// control prints the time and the attempts of each strategy at the store.
func (p plan) control(ctx context.Context, w io.Writer) error {
	type strategy struct {
		name string
		new  func() bounder
	}
	all := []strategy{{plainBackoff, func() bounder { return unbounded{} }}}
	for _, c := range contenders {
		if c.adaptive != nil {
			all = append(all, strategy{c.name + ", from 20", func() bounder { return c.adaptive(20) }})
			continue
		}
		for _, n := range []int{p.task.slots, 2 * p.task.slots} {
			all = append(all, strategy{fmt.Sprintf("%s of %d", c.name, n), func() bounder { return c.fixed(n) }})
		}
	}
	var rows []table.Row
	for _, s := range all {
		var spans, attempts []float64
		var lost int64
		for run := range p.uploads {
			progress("%s: upload %d of %d", s.name, run+1, p.uploads)
			r, err := p.task.run(ctx, s.new())
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			spans, attempts, lost = append(spans, r.span), append(attempts, r.attempts), lost+r.lost
		}
		rows = append(rows, table.Row{s.name, fmt.Sprintf("%.2f", median(spans)), fmt.Sprintf("%.2f", median(attempts)), lost})
	}
	markdown(w, fmt.Sprintf("%d objects of %d KiB from %d goroutines, a store of %d slots, %v each",
		p.task.objects, p.task.size>>10, p.task.goroutines, p.task.slots, p.task.service),
		table.Row{"", "times the optimum", "attempts per object", "lost"}, rows)
	return nil
}
