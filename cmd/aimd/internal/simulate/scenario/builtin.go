package scenario

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Chapter is scenarios that show the claims of one text.
type Chapter struct {
	Title  string
	Source struct{ Title, Author, Year, URL string }
	// Text is a summary of the source.
	Text      string
	Scenarios []string
}

// Family is some of the scenarios of the laws, alike in what limits the service.
type Family struct {
	// Name is the name of its figure; Title says what limits.
	Name, Title string
	// Scenarios are the names of the scenarios.
	Scenarios []string
	// Measures are the two measures that differ between the laws.
	Measures [2]string
}

//go:embed index.yaml
var indexText []byte

// Index lists the built-in scenarios by their purpose.
var Index = func() (x struct {
	// Chapters have the scenarios of the texts, in the order in which to show them; Families those of Laws.
	Chapters []Chapter
	Families []Family
	// Laws judge laws, a law must do no harm in Harm, in Told the service reports quotas, and many processes
	// share the service of Fleet.
	Laws, Harm, Told, Fleet []string
	// Old has the present names of scenarios by their former names.
	Old map[string]string
}) {
	if err := yaml.Unmarshal(indexText, &x); err != nil {
		panic(err) // the text is our own
	}
	return x
}()

// Builtins are the names of the scenarios that come with aimd: the story, then the others.
func Builtins() []string {
	return slices.Concat(Story(), Index.Laws, Index.Harm, Index.Told, Index.Fleet)
}

// Scenario stands for all scenarios of the family: their names are a sweep.
func (f Family) Scenario(runs int) (s Scenario) {
	s.Name, s.Title, s.Runs = f.Name, f.Title, runs
	s.Sweep = []Sweep{{Field: "scenario", Values: f.Scenarios}}
	for _, m := range f.Measures {
		s.Plot = append(s.Plot, Plot{Kind: Curve, Name: strings.ReplaceAll(m, "_", "-"), Measure: m, LogY: true})
	}
	return s
}

// Story are the names of the scenarios that show the claims of the texts, in their order.
func Story() (names []string) {
	for _, c := range Index.Chapters {
		names = append(names, c.Scenarios...)
	}
	return names
}

// Named are the names of the built-in scenarios that a word means: the one with that name, old or new, the
// ones that a pattern like "law-*" matches (path.Match), or the ones whose names begin with the word: "law".
func Named(word string) (names []string) {
	for _, name := range Builtins() {
		match, err := path.Match(word, name)
		switch {
		case name == Current(word):
			return []string{word}
		case err == nil && match, strings.HasPrefix(name, word+"-"):
			names = append(names, name)
		}
	}
	return names
}

// Current is the name that a scenario has now, which may be the given one.
func Current(name string) string {
	if now, ok := Index.Old[name]; ok {
		return now
	}
	return name
}

// Builtin returns the text of the built-in scenario with that name, old or new, and the name of its file for
// errors.
func Builtin(name string) (file string, text []byte, err error) {
	file = "builtin/" + Current(name) + ".yaml"
	if text, err = builtin.ReadFile(file); err != nil {
		return "", nil, fmt.Errorf("there is no scenario %q; aimd sim list shows all", name)
	}
	return file, text, nil
}
