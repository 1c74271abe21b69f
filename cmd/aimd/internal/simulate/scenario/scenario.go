// Package scenario reads scenario files: a service, its clients, the strategies to compare, what to draw and
// what to expect.
package scenario

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/aimd-go/aimd/sim"
)

// Scenario is the content of a file. The yaml tags are the names of the fields, here and in
// package sim; fields.txt explains the fields.
type Scenario struct {
	sim.Scenario
	Sweep  []Sweep       `yaml:"sweep"`
	Plot   []Plot        `yaml:"plot"`
	Expect []Expectation `yaml:"expect"`
}

// Sweep runs the scenario once for each value of a field. Two sweeps make a grid.
type Sweep struct {
	Field  string   `yaml:"field"`
	Values []string `yaml:"values"`
}

// The kinds of Plot.Kind; fields.txt says what each shows.
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
	Kind       string        `yaml:"kind"`
	Name       string        `yaml:"name"`
	Caption    string        `yaml:"caption"`
	Strategies []string      `yaml:"strategies"`
	Measure    string        `yaml:"measure"`
	LogY       bool          `yaml:"log_y"`
	From       time.Duration `yaml:"from"`
	To         time.Duration `yaml:"to"`
	Per        time.Duration `yaml:"per"`
	Top        float64       `yaml:"top"`
	Notes      []Note        `yaml:"notes"`
	// Measured is no field of a file: the rows are real runs, so each panel is named, and has a scale of its
	// own unless that is logarithmic.
	Measured bool
}

// Note is a text in a figure over time: it begins at this time and height.
type Note struct {
	At   time.Duration `yaml:"at"`
	Y    float64       `yaml:"y"`
	Text string        `yaml:"text"`
}

// Expectation is a number that the scenario must show: a measure's median over the runs.
type Expectation struct {
	Strategy string    `yaml:"strategy"`
	At       []string  `yaml:"at"`
	Measure  string    `yaml:"measure"`
	Over     string    `yaml:"over"`
	Is       *float64  `yaml:"is"`
	Within   Tolerance `yaml:"within"`
	AtLeast  *float64  `yaml:"at_least"`
	AtMost   *float64  `yaml:"at_most"`
	Never    bool      `yaml:"never"`
	Says     string    `yaml:"says"`
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
	// At has "field=value" for each sweep; empty without a sweep.
	At []string
	Scenario
}

// Points are all choices of the sweep's values, the last sweep's changing fastest; without a sweep, the
// scenario as it is. The scenario must be valid.
func (s Scenario) Points() []Point {
	points := []Point{{Scenario: s}}
	for _, w := range s.Sweep {
		var next []Point
		for _, p := range points {
			for _, v := range w.Values {
				at := append(p.At[:len(p.At):len(p.At)], w.Field+"="+v)
				one := p.Scenario
				new(decoder).assign(&one, w.Field, v)
				next = append(next, Point{at, one})
			}
		}
		points = next
	}
	return points
}

// Tolerance is how far a number may be off: a number like "0.5", or a share like "6%". The zero value allows
// only for rounding.
type Tolerance string

// off is how far a number may be from that number.
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
