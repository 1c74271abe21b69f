package chart

import (
	"slices"

	"github.com/aimd-go/aimd/cmd/aimd/internal/page"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
)

// Story is the page of the scenarios of the texts, in chapters.
func Story(studies []experiment.Study, command string) page.Page {
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
	return scored(p)
}
