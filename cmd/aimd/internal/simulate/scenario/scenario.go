// Package scenario reads scenario files: a service, its clients, the strategies to compare, what to draw and
// what to expect.
package scenario

import (
	"cmp"
	"embed"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/aimd-go/aimd/internal/sim"
)

// Scenario is the content of a file. The yaml tags are the names of the fields, here and in package sim. The
// comments of the fields are their help: see fields.txt.
type Scenario struct {
	// Name is a word of a-z, 0-9, '-' and '.'. In a file without one it is the file's name.
	Name string `yaml:"name"`
	// Title is half a line on the subject.
	Title string `yaml:"title"`
	// Claim is the sentence that the runs should show; in quotation marks, if it is the words of a source.
	Claim string `yaml:"claim"`
	sim.Scenario
	// Strategies are those to compare; an empty list means all ready ones.
	Strategies []sim.Strategy `yaml:"strategies"`
	// Seed is the seed of the first run; the next run has Seed + 1.
	Seed uint64 `yaml:"seed"`
	// Runs is the number of runs of each strategy, up to 10000; 0 means 21.
	Runs int `yaml:"runs"`
	// Sweep runs the scenario once for each value of a field. Two sweeps make a grid.
	Sweep []Sweep `yaml:"sweep"`
	// Plot are the figures; without any: the answers, and the windows where there are any.
	Plot []Plot `yaml:"plot"`
	// Expect are the medians over the runs that are wanted; aimd sim run ends with status 1 if one is not so.
	Expect []Expectation `yaml:"expect"`
}

// Sweep runs the scenario once for each value of a field.
type Sweep struct {
	// Field is the field, like clients.operations, or fields that change together, like
	// "clients.count and server.slots".
	Field string `yaml:"field"`
	// Values are its values, like "10 and 50" for two fields.
	Values []string `yaml:"values"`
}

// together stands between the fields of a sweep that change together, and between their values.
const together = " and "

// Fields are the fields that the sweep changes.
func (w Sweep) Fields() []string { return strings.Split(w.Field, together) }

// At has "field=value" for each field of the sweep.
func (w Sweep) At(value string) (at []string) {
	fields := w.Fields()
	for i, v := range strings.SplitN(value, together, len(fields)) {
		at = append(at, fields[i]+"="+v)
	}
	return at
}

// The kinds of Plot.Kind.
const (
	Answers  = "answers"
	Requests = "requests"
	Window   = "window"
	Load     = "load"
	Delays   = "delays"
	Curve    = "curve"
	Map      = "map"
)

// Plot is one figure.
type Plot struct {
	// Kind is "answers" (requests per second that succeed and that do not, over time), "requests" (those sent
	// per second, and the retries among them), "window" (cwnd and ssthresh over time), "load" (requests at the
	// server over time), "delays" (the waits of an operation that never succeeds), "curve" (a measure over the
	// sweep), or "map" (a table: a measure of one strategy over the same one of another, over two sweeps).
	Kind string `yaml:"kind"`
	// Name is added to the scenario's name for the file's.
	Name string `yaml:"name"`
	// Caption is a sentence above the figure.
	Caption string `yaml:"caption"`
	// Strategies are those that it shows; without any: all.
	Strategies []string `yaml:"strategies"`
	// Measure is the measure that a curve or a map shows.
	Measure string `yaml:"measure"`
	// LogY makes the vertical axis logarithmic.
	LogY bool `yaml:"log_y"`
	// From is the start of the time axis.
	From time.Duration `yaml:"from"`
	// To is the end of the time axis; 0: the end of the runs.
	To time.Duration `yaml:"to"`
	// Per is the time over which rates are taken; 0: the traces' interval.
	Per time.Duration `yaml:"per"`
	// Top is the end of the vertical axis; 0: above the highest value.
	Top float64 `yaml:"top"`
	// Notes are texts in a figure over time.
	Notes []Note `yaml:"notes"`
}

// Note is a text in a figure over time.
type Note struct {
	// At is the time at which the text begins.
	At time.Duration `yaml:"at"`
	// Y is the height of the text on the vertical axis.
	Y float64 `yaml:"y"`
	// Text is the text.
	Text string `yaml:"text"`
}

// Expectation is a number that the scenario must show: a measure's median over the runs.
type Expectation struct {
	// Strategy is the one whose measure it is.
	Strategy string `yaml:"strategy"`
	// At are values of the sweep, like [clients.operations=100]: at each point that has them; without any: at each.
	At []string `yaml:"at"`
	// Measure is the measure, by its name in --json.
	Measure string `yaml:"measure"`
	// Over divides it by the measure of this strategy, or by the least of several: reno-0.9 or backoff.
	Over string `yaml:"over"`
	// Is is the number.
	Is *float64 `yaml:"is"`
	// Within is the most that it may be off Is: a number, or a share like 6%; without it not at all.
	Within Tolerance `yaml:"within"`
	// AtLeast is the least.
	AtLeast *float64 `yaml:"at_least"`
	// AtMost is the most.
	AtMost *float64 `yaml:"at_most"`
	// Never says that it never comes to an end, like the recovery of a service that stays down.
	Never bool `yaml:"never"`
	// Says is the words of the source, to stand beside our number.
	Says string `yaml:"says"`
}

// Others are the strategies of Over: "reno-0.9 or backoff" names two.
func (e Expectation) Others() []string {
	if e.Over == "" {
		return nil
	}
	return strings.Split(e.Over, " or ")
}

// Point is a scenario with one choice of the sweep's values.
type Point struct {
	// At has "field=value" for each field that is swept; empty without a sweep.
	At []string
	Scenario
}

// Has reports whether the point has all these values.
func (p Point) Has(at []string) bool {
	return !slices.ContainsFunc(at, func(x string) bool { return !slices.Contains(p.At, x) })
}

// Points are all choices of the sweep's values, the last sweep's changing fastest; without a sweep, the
// scenario as it is. The scenario must be valid.
func (s Scenario) Points() []Point {
	points := []Point{{Scenario: s}}
	for _, w := range s.Sweep {
		var next []Point
		for _, p := range points {
			for _, v := range w.Values {
				one := Point{append(p.At[:len(p.At):len(p.At)], w.At(v)...), p.Scenario}
				w.assign(new(decoder), &one.Scenario, v)
				next = append(next, one)
			}
		}
		points = next
	}
	return points
}

// Tolerance is the most that a number may be off: a number like "0.5", or a share like "6%". The zero value allows
// only for rounding.
type Tolerance string

// off is the most that a number may be from that number.
func (t Tolerance) off(want float64) (float64, error) {
	number, share := strings.CutSuffix(cmp.Or(string(t), "0"), "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s is not allowed, want a number from 0 like 0.5, or a share like 6%%", t)
	}
	if share {
		v *= math.Abs(want) / 100
	}
	return v + 1e-9*math.Abs(want), nil
}

// Allows reports whether got is near enough to want.
func (t Tolerance) Allows(got, want float64) bool {
	off, err := t.off(want)
	return err == nil && math.Abs(got-want) <= off
}

//go:embed builtin/*.yaml
var builtin embed.FS

// Chapter is scenarios that show the claims of one text, or that have another purpose in common.
type Chapter struct {
	Title  string
	Source struct{ Title, Author, Year, URL string }
	// Text is a summary of the source.
	Text      string
	Scenarios []string
}

//go:embed index.yaml
var indexText []byte

// Index lists the built-in scenarios by their purpose.
var Index = func() (x struct {
	// Chapters have the scenarios of the texts, in the order in which to show them; Others have all others.
	Chapters, Others []Chapter
}) {
	if err := yaml.Unmarshal(indexText, &x); err != nil {
		panic(err) // the text is our own
	}
	return x
}()

// Builtins are the names of the scenarios that come with aimd: the story, then the others.
func Builtins() []string { return append(Story(), scenarios(Index.Others)...) }

func scenarios(chapters []Chapter) (names []string) {
	for _, c := range chapters {
		names = append(names, c.Scenarios...)
	}
	return names
}

// Story are the names of the scenarios that show the claims of the texts, in their order.
func Story() []string { return scenarios(Index.Chapters) }

// Named are the names of the built-in scenarios that the words mean: the one with that name, those that a pattern like
// "law-*" matches (path.Match), or those whose names begin with the word: "law". Any other word stays as it is.
func Named(words ...string) (names []string) {
	for _, word := range words {
		all := slices.DeleteFunc(Builtins(), func(name string) bool {
			match, err := path.Match(word, name)
			return (err != nil || !match) && !strings.HasPrefix(name, word+"-")
		})
		if len(all) == 0 || slices.Contains(all, word) {
			all = []string{word}
		}
		names = append(names, all...)
	}
	return names
}

// Builtin returns the text of the built-in scenario with that name, and the name of its file for
// errors.
func Builtin(name string) (file string, text []byte, err error) {
	file = "builtin/" + name + ".yaml"
	if text, err = builtin.ReadFile(file); err != nil {
		return "", nil, fmt.Errorf("there is no scenario %q; aimd sim list shows all", name)
	}
	return file, text, nil
}
