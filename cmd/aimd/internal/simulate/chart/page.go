package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aimd-go/aimd/cmd/aimd/internal/page"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
)

// Page is the page of the studies, under the title of the one that there is.
func Page(studies []experiment.Study, command string) page.Page {
	p := page.Page{Title: "aimd sim", Chapters: []page.Chapter{{Sections: sections(studies)}}, Command: command}
	if len(studies) == 1 && studies[0].Title != "" {
		p.Title = studies[0].Title
	}
	for _, s := range studies {
		if v := verdict(s); v != "" {
			p.Verdict = append(p.Verdict, v)
		}
	}
	return scored(p)
}

// scored is the page whose verdict ends with how many expectations hold.
func scored(p page.Page) page.Page {
	switch met, unmet := p.Score(); {
	case unmet > 0:
		p.Verdict = append(p.Verdict, fmt.Sprintf("%d of %d expectations do not hold.", unmet, met+unmet))
	case met > 0:
		p.Verdict = append(p.Verdict, fmt.Sprintf("All %d expectations hold.", met))
	}
	return p
}

// verdict is the result in a line: the strategies that did all of a bounded work, the
// quickest first. "" means that no strategy did.
func verdict(s experiment.Study) string {
	if len(s.Sweep) > 0 {
		return ""
	}
	rows := slices.DeleteFunc(slices.Clone(s.Rows), func(r experiment.Row) bool {
		lost := r.Of("given_up")
		return !r.Of("makespan_s").Applies || r.Of("makespan_s").Median.AtLeast || lost.Applies && lost.Max.Value > 0
	})
	if len(rows) == 0 {
		return ""
	}
	slices.SortStableFunc(rows, func(a, b experiment.Row) int {
		return cmp.Compare(a.Of("makespan_s").Median.Value, b.Of("makespan_s").Median.Value)
	})
	best, worst := rows[0], rows[len(rows)-1]
	line := fmt.Sprintf("%s: all done in %s s", best.Strategy.Name, best.Of("makespan_s").Median)
	if x := best.Of("span"); x.Applies {
		line += fmt.Sprintf(", %s times the optimum", x.Median)
	}
	line += fmt.Sprintf(", with %s attempts", best.Of("attempts").Median)
	if len(rows) > 1 {
		line += fmt.Sprintf("; %s: %s s with %s", worst.Strategy.Name, worst.Of("makespan_s").Median, worst.Of("attempts").Median)
	}
	return line + "."
}

func sections(studies []experiment.Study) (all []page.Section) {
	for _, s := range studies {
		all = append(all, section(s))
	}
	return all
}

func section(s experiment.Study) page.Section {
	x := page.Section{
		Name: s.Name, Title: cmp.Or(s.Title, s.Name), Claim: s.Claim, Figures: Figures(s), Table: newTable(s, label),
		Summary: "All measures: the median of runs with different seeds of randomness, and the range below it",
	}
	if s.WithDefaults().Runs == 1 {
		x.Summary = "All measures of the run"
	}
	for _, v := range s.Verdicts() {
		x.Numbers = append(x.Numbers, page.Number{What: what(v), Theirs: v.Says, Ours: v.Shown(), Met: v.Met})
	}
	return x
}

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

// Story is the page of the scenarios of the texts, in chapters, and of the families of
// the laws.
func Story(studies []experiment.Study, families []Family, command string) page.Page {
	p := page.Page{
		Title:   "Retries, backoff and windows: what five authors claim, simulated",
		Intro:   []string{"Every figure is made by this library's own code on virtual time, from a scenario whose name stands beside its title: aimd sim run NAME shows it again, with randomness and settings of your own. Numbers are medians over runs with different seeds of randomness."},
		Command: command,
	}
	for _, c := range scenario.Chapters() {
		told := slices.DeleteFunc(slices.Clone(studies), func(s experiment.Study) bool { return !slices.Contains(c.Scenarios, s.Name) })
		if len(told) > 0 {
			p.Chapters = append(p.Chapters, page.Chapter{Title: c.Title, Source: page.Source(c.Source), Text: []string{c.Text}, Sections: sections(told)})
		}
	}
	if len(families) > 0 {
		p.Chapters = append(p.Chapters, lawChapter(families))
	}
	return scored(p)
}
