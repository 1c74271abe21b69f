package chart

import (
	"strings"

	"github.com/aimd-go/aimd/cmd/aimd/internal/page"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/experiment"
)

// syncmusings is the text that the library's core comes from.
var syncmusings = page.Source{
	Title: "Improve on exponential backoff", Author: "Syncing musings", Year: "2019",
	URL: "https://www.aeoncase.com/blog/posts/improve-on-exponential-backoff/",
}

// chapters are those of the story, each with the beginning of its first scenario's name.
// docs/sources.md tells more of the texts.
var chapters = []struct {
	first, title string
	source       page.Source
	text         string
}{
	{"growing-delays", "How not to crash a server", page.Source{
		Title: "Exponential Backoff or how not to crash a server", Author: "Andrey Smirnov", Year: "2014",
		URL: "https://sudonull.com/post/110101-Exponential-Backoff-or-how-not-to-crash-a-server",
	}, "Clients that repeat what failed after a fixed time keep a service down that has just come back. Clients that wait longer each time let it rise."},
	{"submit-methods", "Exponential backoff in distributed systems", page.Source{
		Title: "Exponential Backoff in Distributed Systems", Author: "Douglas Thain", Year: "2009",
		URL: "https://dthain.blogspot.com/2009/02/exponential-backoff-in-distributed.html",
	}, "Many clients submit jobs to one queue. The shell takes care of errors and retries, by three methods: fixed retry, Aloha (backoff), and Ethernet (backoff, and a look before sending). And what backoff costs: time after the end of an outage."},
	{"last-try-waits", "Exponential backoff in Clojure", page.Source{
		Title: "Exponential Backoff", Author: "Eric Normand", Year: "2015",
		URL: "https://ericnormand.me/article/exponential-backoff",
	}, "A small routine with a budget: time, rate and max, and one last try when the budget is spent."},
	{"sync-start", "Safe client behaviour", page.Source{
		Title: "Safe Client Behaviour", Author: "Ariel Goh", Year: "2018",
		URL: "https://www.usenix.org/conference/srecon18asia/presentation/goh",
	}, "A talk about clients of which there are far more than servers. Rule 1: jitter everything. Rule 2: don't retry. Rule 3: if you retry, back off. Each of its figures is here with 10 000 clients, each of which asks once in five minutes: 33 requests per second if they were spread evenly. Below each stands the highest rate of any second over the mean."},
	{"window-vs-backoff", "Improve on exponential backoff", syncmusings,
		"One client with many requests has a problem that backoff was not made for. TCP's congestion control was: a window bounds the requests in flight, successes widen it, and the first refusal of each burst narrows it."},
	{"backoff-or-window", "Backoff or window?", syncmusings,
		"The same text says that backoff is for many clients with few requests each. Here both do the same 2000 operations, from one client that has all of them to a thousand that have two each, at services from 5 to 500 slots. A number above 1 says how many times as much backoff needs."},
}

// Story is the page of the scenarios of the texts, which come in the order of the
// chapters, and of the families of the laws.
func Story(studies []experiment.Study, families []Family, command string) page.Page {
	p := page.Page{
		Title:   "Retries, backoff and windows: what five authors claim, simulated",
		Intro:   []string{"Every figure is made by this library's own code on virtual time, from a scenario whose name stands beside its title: aimd sim run NAME shows it again, with randomness and settings of your own. Numbers are medians over runs with different seeds of randomness."},
		Command: command,
	}
	next := 0
	for _, s := range studies {
		for i := next; i < len(chapters); i++ {
			if c := chapters[i]; strings.HasPrefix(s.Name, c.first) {
				p.Chapters = append(p.Chapters, page.Chapter{Title: c.title, Source: c.source, Text: []string{c.text}})
				next = i + 1
				break
			}
		}
		if last := len(p.Chapters) - 1; last >= 0 {
			p.Chapters[last].Sections = append(p.Chapters[last].Sections, section(s))
		}
	}
	if len(families) > 0 {
		p.Chapters = append(p.Chapters, lawChapter(families))
	}
	return scored(p)
}
