// Package scenario reads scenario files: a service, its clients, the strategies to
// compare, what to draw and what to expect.
package scenario

import (
	"errors"
	"math"
	"slices"
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

// Sweep runs the scenario once for each value of a field. Two sweeps make a
// grid.
type Sweep struct {
	Field  string   `yaml:"field"`
	Values []string `yaml:"values"`
}

// The kinds of Plot.Kind.
const (
	// Answers are the requests that succeed and that do not, per second, over time.
	Answers = "answers"
	// Requests are the requests that are sent per second, over time, and the
	// retries among them.
	Requests = "requests"
	// Window is cwnd and ssthresh over time.
	Window = "window"
	// Load is how many requests the server has at a time, over time.
	Load = "load"
	// Delays are the waits of one operation that never succeeds, by attempt.
	Delays = "delays"
	// Curve is a measure over the values of the sweep.
	Curve = "curve"
	// Map is a measure of one strategy divided by the measure of another, over two sweeps.
	Map = "map"
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
	// Measured is no field of a file: the rows are real runs, so each panel is named, and
	// has a scale of its own unless that is logarithmic.
	Measured bool
}

// Note is a text in a figure over time: it begins at this time and height.
type Note struct {
	At   time.Duration `yaml:"at"`
	Y    float64       `yaml:"y"`
	Text string        `yaml:"text"`
}

// Expectation is a number that the scenario must show: a measure's median over the
// runs.
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

// Points are all choices of the sweep's values, the last sweep's changing fastest;
// without a sweep, the scenario as it is. The scenario must be a valid one.
func (s Scenario) Points() []Point {
	points := []Point{{Scenario: s}}
	for _, w := range s.Sweep {
		var next []Point
		for _, p := range points {
			for _, v := range w.Values {
				at := append(p.At[:len(p.At):len(p.At)], w.Field+"="+v)
				next = append(next, Point{at, p.with(new(decoder), w.Field, v)})
			}
		}
		points = next
	}
	return points
}

// with is the scenario with another value in a field. Problems of the value go to the decoder.
func (s Scenario) with(d *decoder, field, v string) Scenario {
	s.Server.Capacity = slices.Clone(s.Server.Capacity)
	s.Server.Outages = slices.Clone(s.Server.Outages)
	s.Strategies = slices.Clone(s.Strategies)
	d.assign(&s, field, v)
	return s
}

// Tolerance is how far a number may be off: by Value, or by a share. The zero value
// allows only for rounding.
type Tolerance struct {
	Value float64
	// Share makes Value a share: 0.06 is 6%.
	Share bool
}

// UnmarshalText reads "0.5", or a share like "6%".
func (t *Tolerance) UnmarshalText(b []byte) error {
	number, share := strings.CutSuffix(string(b), "%")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 0) {
		return errors.New("a number from 0 like 0.5, or a share like 6%")
	}
	if *t = (Tolerance{v, share}); share {
		t.Value /= 100
	}
	return nil
}

// String is the text that UnmarshalText reads.
func (t Tolerance) String() string {
	if t.Share {
		return strconv.FormatFloat(100*t.Value, 'g', 6, 64) + "%"
	}
	return strconv.FormatFloat(t.Value, 'g', -1, 64)
}

// Allows reports whether got is near enough to want.
func (t Tolerance) Allows(got, want float64) bool {
	off := t.Value
	if t.Share {
		off *= math.Abs(want)
	}
	return math.Abs(got-want) <= off+1e-9*math.Abs(want)
}
