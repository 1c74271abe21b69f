package chart

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/aimd-go/aimd/cmd/aimd/internal/page"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
)

// score is the number of the studies' expectations that hold, as text.
func score(studies []experiment.Study) []string {
	all, unmet := 0, 0
	for _, s := range studies {
		for _, v := range s.Verdicts() {
			if all++; !v.Met {
				unmet++
			}
		}
	}
	switch {
	case unmet > 0:
		return []string{fmt.Sprintf("%d of %d expectations do not hold.", unmet, all)}
	case all > 0:
		return []string{fmt.Sprintf("All %d expectations hold.", all)}
	}
	return nil
}

func sections(studies []experiment.Study) (all []page.Section) {
	for _, s := range studies {
		x := page.Section{
			Name: s.Name, Title: cmp.Or(s.Title, s.Name), Claim: s.Claim, Figures: Figures(s), Table: newTable(s, label),
			Numbers: table.Table{Columns: []table.Column{{Head: "number", Left: true}, {Head: "the source says"}, {Head: "ours"}}},
			Summary: "All measures: the median of runs with different seeds of randomness, and the range below it",
		}
		if s.Runs == 1 {
			x.Summary = "All measures of the run"
		}
		for _, v := range s.Verdicts() {
			ours := table.Cell{Text: v.Shown()}
			if !v.Met {
				ours = table.Cell{Text: v.Shown() + " (not as expected)", Bad: true}
				x.Unmet++
			}
			x.Numbers.Rows = append(x.Numbers.Rows, []table.Cell{{Text: v.Name(label)}, {Text: v.Says}, ours})
		}
		all = append(all, x)
	}
	return all
}

// Story is the page of the scenarios of the texts, in chapters, and of the families of
// the laws.
func Story(studies, families []experiment.Study) page.Page {
	p := page.Page{
		Title:   "Retries, backoff and windows: what five authors claim, simulated",
		Intro:   []string{"Every figure is made by this library's own code on virtual time, from a scenario whose name stands beside its title: aimd sim run NAME shows it again, with randomness and settings of your own. Numbers are medians over runs with different seeds of randomness."},
		Verdict: score(studies),
	}
	for _, c := range scenario.Index.Chapters {
		told := slices.DeleteFunc(slices.Clone(studies), func(s experiment.Study) bool { return !slices.Contains(c.Scenarios, s.Name) })
		if len(told) > 0 {
			p.Chapters = append(p.Chapters, page.Chapter{Title: c.Title, Source: page.Source(c.Source), Text: []string{c.Text}, Sections: sections(told)})
		}
	}
	if len(families) > 0 {
		p.Chapters = append(p.Chapters, page.Chapter{Title: "Which law when", Sections: sections(families), Text: []string{
			"The laws of the window against backoff, at services of every kind: one point for each scenario and strategy, the median of a few runs. Lower is better in all of them.",
		}})
	}
	return p
}
