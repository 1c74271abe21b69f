package chart

import (
	"strings"

	"github.com/aimd-go/aimd/cmd/aimd/internal/experiment"
)

// chapters are those of the story, each with the beginning of its scenarios' names.
var chapters = []struct {
	prefix, title string
	text          []string
}{
	{"seed0", "Seed 0: Exponential backoff, or how not to crash a server", []string{
		"Clients that repeat what failed after a fixed time keep a service down that has just come back. Clients that wait longer each time let it rise.",
	}},
	{"seed1", "Seed 1: Why exponential backoff?", []string{
		"Many clients submit jobs to one queue. The shell takes care of errors and retries, by three methods: fixed retry, Aloha (backoff), and Ethernet (backoff, and a look before sending). And what backoff costs: time after the end of an outage.",
	}},
	{"seed2", "Seed 2: Exponential backoff in Clojure", []string{
		"A small routine with a budget: time, rate and max, and one last try when the budget is spent.",
	}},
	{"seed3", "Seed 3: Safe client behaviour", []string{
		"A talk about clients of which there are far more than servers. Rule 1: jitter everything. Rule 2: don't retry. Rule 3: if you retry, back off. Each of its figures is here with 10 000 clients, each of which asks once in five minutes: 33 requests per second if they were spread evenly. Below each stands the highest rate of any second over the mean.",
	}},
	{"seed4", "Seed 4: Improve on exponential backoff", []string{
		"One client with many requests has a problem that backoff was not made for. TCP's congestion control was: a window bounds the requests in flight, successes widen it, and the first refusal of each burst narrows it.",
	}},
	{"backoff-or-window", "Backoff or window?", []string{
		"Seed 4 says that backoff is for many clients with few requests each. Here both do the same 2000 operations, from one client that has all of them to a thousand that have two each, at services from 5 to 500 slots. A number above 1 says how many times as much backoff needs.",
	}},
}

// Story is the page of all the built-in scenarios.
func Story(studies []experiment.Study, command string) Page {
	p := Page{
		Title:   "Retries, backoff and windows: what five authors claim, simulated",
		Intro:   "Every figure is made by this library's own code on virtual time, from a scenario whose name stands beside its title: aimd sim run NAME shows it again, with seeds and settings of your own. Numbers are medians over the seeds of randomness.",
		Command: command,
	}
	for _, c := range chapters {
		one := Chapter{Title: c.title, Text: c.text}
		for _, s := range studies {
			if strings.HasPrefix(s.Name, c.prefix) {
				one.Studies = append(one.Studies, s)
			}
		}
		if len(one.Studies) > 0 {
			p.Chapters = append(p.Chapters, one)
		}
	}
	return p
}
