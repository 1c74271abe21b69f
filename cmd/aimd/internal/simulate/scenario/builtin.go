package scenario

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Chapter is scenarios that show what one text says.
type Chapter struct {
	Title  string
	Source struct{ Title, Author, Year, URL string }
	// Text says what it is about.
	Text      string
	Scenarios []string
}

//go:embed index.yaml
var indexText []byte

var (
	index = parseIndex()
	// laws are the scenarios that judge laws, old the former names of scenarios.
	laws, old = slices.Concat(index.Laws, index.Harm), index.Old
)

func parseIndex() (x struct {
	Chapters []Chapter
	Laws     []string
	Harm     []string
	Families []Family
	Old      map[string]string
}) {
	if err := yaml.Unmarshal(indexText, &x); err != nil {
		panic(err) // it is our own
	}
	return x
}

// Builtins are the names of the scenarios that come with aimd: the story, then
// those of the laws.
func Builtins() []string { return slices.Concat(Story(), laws) }

// Chapters are those of the story that the texts tell.
func Chapters() []Chapter { return index.Chapters }

// Story are the names of the scenarios that tell it, in their order.
func Story() (names []string) {
	for _, c := range index.Chapters {
		names = append(names, c.Scenarios...)
	}
	return names
}

// Named are the names of the built-in scenarios that a word means: one by its
// name, old or new, those that a pattern like "law-*" matches (path.Match), or all those of a
// family by what their names begin with: "law". None: there are no such scenarios.
func Named(word string) (names []string) {
	all := Builtins()
	if slices.Contains(all, Current(word)) {
		return []string{word}
	}
	for _, name := range all {
		if match, err := path.Match(word, name); err == nil && match || strings.HasPrefix(name, word+"-") {
			names = append(names, name)
		}
	}
	return names
}

// Current is the name that a scenario has now, which may be the given one.
func Current(name string) string {
	if now, ok := old[name]; ok {
		return now
	}
	return name
}

// Builtin returns the text of the built-in scenario of that name, old or new, and the
// name of its file for errors.
func Builtin(name string) (file string, text []byte, err error) {
	file = "builtin/" + Current(name) + ".yaml"
	text, err = builtin.ReadFile(file)
	if err != nil {
		return "", nil, fmt.Errorf("there is no scenario %q; aimd sim list shows all", name)
	}
	return file, text, nil
}

// Family is some of the scenarios of the laws, alike in what limits the service.
type Family struct {
	// Name is that of its figure; Title says what limits.
	Name, Title string
	// Scenarios are the names of the scenarios.
	Scenarios []string
	// Measures are the two that tell the laws apart.
	Measures [2]string
}

// Families are the families of the laws' scenarios, in the order in which to show them.
func Families() []Family { return index.Families }
