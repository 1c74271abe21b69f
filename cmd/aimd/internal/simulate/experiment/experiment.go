// Package experiment runs scenarios: every strategy, over all seeds and all points of a sweep, on all cores.
package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/internal/sim"
)

// Study is a scenario and what its runs showed.
type Study struct {
	scenario.Scenario
	// Rows are by point, then by strategy, in the order of the scenario.
	Rows []Row
}

// Row is what one strategy showed at one point of the sweep, over all seeds.
type Row struct {
	// At is the point: "field=value" for each field that is swept.
	At       []string
	Strategy sim.Strategy
	// CutShort is the number of runs that were ended after too many events.
	CutShort int
	// Ranges are by measure. They have no measure that applies to none of the runs.
	Ranges map[string]Range
	// Typical is the run in the middle, with the median makespan or, without a number of operations, the
	// median number of attempts. It has its traces unless there is a sweep or the scenario has them off.
	Typical sim.Result
}

// Endless reports a measure that most runs had to be ended for, after too many events: its bound says nothing.
func (r Row) Endless(measure string) bool { return r.CutShort > 0 && r.Ranges[measure].Median.AtLeast }

// GaveUp reports whether operations were given up in any of the runs.
func (r Row) GaveUp() bool { return r.Ranges["given_up"].Max.Value > 0 }

// Row returns the row of the strategy at the point, and false if its runs did not end.
func (s Study) Row(strategy string, at []string) (Row, bool) {
	i := slices.IndexFunc(s.Rows, func(r Row) bool { return r.Strategy.Name == strategy && slices.Equal(r.At, at) })
	if i < 0 {
		return Row{}, false
	}
	return s.Rows[i], true
}

// job is all runs of one row.
type job struct {
	point    scenario.Point
	strategy sim.Strategy
	results  []sim.Result
	// done is the number of results.
	done int
	// first is the first job of the same point, whose runs have the same optima.
	first *job
}

// Run makes all runs of the scenario. ran is called after each, by one at a time. When the context ends, the
// study holds the rows all of whose runs are done, and the error is the context's.
func Run(ctx context.Context, s scenario.Scenario, ran func()) (Study, error) {
	study := Study{Scenario: s}
	jobs := jobs(ctx, s)
	if err := runAll(ctx, jobs, ran); err != nil {
		return study, err
	}
	for _, j := range jobs {
		if j.done < len(j.results) {
			continue
		}
		row, err := j.row(ctx, len(s.Sweep) == 0 && !s.NoTraces)
		if err != nil {
			return study, err
		}
		study.Rows = append(study.Rows, row)
	}
	return study, ctx.Err()
}

func jobs(ctx context.Context, s scenario.Scenario) (all []*job) {
	for _, p := range s.Points() {
		p.NoTraces = true
		p.Stop = func() bool { return ctx.Err() != nil }
		for i, st := range p.Strategies {
			j := &job{point: p, strategy: st, results: make([]sim.Result, p.Runs)}
			all = append(all, j)
			j.first = all[len(all)-1-i]
		}
	}
	return all
}

// runAll makes the runs of all jobs, as many at a time as there are processors.
func runAll(ctx context.Context, jobs []*job, ran func()) error {
	var mu sync.Mutex // of the results and ran
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for _, j := range jobs {
		for i := 0; i < len(j.results) && ctx.Err() == nil; i++ {
			all.Go(func() error {
				s := j.point.Scenario.Scenario
				mu.Lock()
				s.Optimum = j.first.results[i].Optimum
				mu.Unlock()
				r, err := sim.Run(s, j.strategy, j.point.Seed+uint64(i))
				mu.Lock()
				defer mu.Unlock()
				if err == nil && r.Ended != "stopped" {
					j.results[i] = r
					j.done++
					ran()
				}
				return err
			})
		}
	}
	return all.Wait()
}

func (j *job) row(ctx context.Context, traced bool) (Row, error) {
	row := Row{At: j.point.At, Strategy: j.strategy, Ranges: ranges(j.results)}
	for _, r := range j.results {
		if r.Ended == "events" {
			row.CutShort++
		}
	}
	i := typical(j.results)
	row.Typical = j.results[i]
	if !traced || ctx.Err() != nil {
		return row, nil
	}
	s := j.point.Scenario.Scenario
	s.NoTraces, s.Optimum = false, row.Typical.Optimum
	again, err := sim.Run(s, j.strategy, j.point.Seed+uint64(i))
	row.Typical = again
	return row, err
}

// Warnings say which runs came to no end of their own, though the scenario does not expect that.
func (s Study) Warnings() (all []string) {
	for _, r := range s.Rows {
		endless := slices.ContainsFunc(s.Expect, func(e scenario.Expectation) bool { return e.Never && e.Strategy == r.Strategy.Name })
		if r.CutShort > 0 && !endless {
			all = append(all, fmt.Sprintf("%s: %d of %d runs were ended after too many events (max_events)", r.Strategy.Name, r.CutShort, s.Runs))
		}
	}
	return all
}

// inJSON are the measures of a line of JSON, in their order: a shape that scripts rely on.
// The last ones, which need watch, regain or clients.background, cpu or price, are left out where they do not apply.
var (
	inJSON = []string{
		"makespan_s", "span", "attempts", "attempts_per_op", "p50_s", "p99_s", "first_send_p99_s", "peak_in_flight", "jain",
		"recovery_s", "outage_sent",
	}
	whenNeeded = []string{
		"watch_use", "watch_attempts_per_op", "watch_errors", "watch_jain", "watch_peak_in_flight", "regain_s", "interactive_done", "background_done",
		"refused_per_hour", "quota_share", "cpu_s", "price",
	}
)

// JSON writes one object per row and line. A number that is only known from below is that bound; a measure
// that does not apply, or whose runs had no end, is null. Rows of a sweep have "set" with their point.
func (s Study) JSON(w io.Writer) error {
	for _, r := range s.Rows {
		line, err := r.json(s)
		if _, wrong := fmt.Fprintf(w, "{%s}\n", line); err != nil || wrong != nil {
			return cmp.Or(err, wrong)
		}
	}
	return nil
}

// json is what stands between the braces.
func (r Row) json(s Study) (line string, failed error) {
	field := func(name string, value any) {
		text, err := json.Marshal(value)
		failed = cmp.Or(failed, err)
		line += fmt.Sprintf(",%q:%s", name, text)
	}
	field("scenario", s.Name)
	field("strategy", r.Strategy.Name)
	if len(r.At) > 0 {
		set := map[string]string{}
		for _, at := range r.At {
			name, v, _ := strings.Cut(at, "=")
			set[name] = v
		}
		field("set", set)
	}
	field("runs", s.Runs)
	for i, measure := range slices.Concat(inJSON, whenNeeded) {
		if x := r.Ranges[measure]; x.Applies && !r.Endless(measure) {
			field(measure, x)
		} else if i < len(inJSON) {
			field(measure, nil)
		}
	}
	return line[1:], failed
}
