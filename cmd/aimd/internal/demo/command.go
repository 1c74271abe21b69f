// Package demo does the same work with several strategies, against a service that refuses what is too much.
package demo

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/race"
	"github.com/aimd-go/aimd/cmd/aimd/internal/livepage"
	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/internal/sim"
)

//go:embed help
var help embed.FS

type work interface {
	race.Work
	race() *race.Race
	// flags adds the work's own flags, and returns their values in a short run.
	flags(f *pflag.FlagSet) (quick map[string]string)
	// report has what there is to say before the runs. Its error is that flags do not fit together.
	report() (Report, error)
}

// names are the names of all strategies: without a limiter, then with a limiter of each law.
func names(w work) []string { return append(slices.Clone(w.race().Rivals), sim.Laws()...) }

// Command is aimd demo, with aimd demo api below it.
func Command() *cobra.Command {
	c := command(newUploads(), &cobra.Command{Use: "demo", Short: "Upload objects to a store that says SlowDown, once per strategy"})
	c.AddCommand(command(newJobs(), &cobra.Command{Use: "api", Short: "Send requests to an API that says 429, once per strategy"}))
	return c
}

func command(w work, c *cobra.Command) *cobra.Command {
	c = cli.Help(help, c)
	c.Args = cli.NoArgs
	f, r, o := cli.Flags(c), w.race(), new(output)
	short := w.flags(f)
	quick := f.Bool("quick", false, "a run of a few seconds per strategy; other flags still count")
	r.Only = slices.DeleteFunc(names(w), func(name string) bool { return strings.HasPrefix(name, "backoff-") }) // on demand
	f.Var(value.Factor(&r.Factor), "factor", "the share of the window that tahoe and reno keep at a cut")
	f.Var(value.Names(&r.Only, names(w)), "only", "which strategies to run")
	cli.Complete(c, "only", names(w))
	f.Var(value.Decimal(&r.Price, 0, 1_000_000), "price", "price of a request in any currency; the table then has the price of all requests")
	f.Var(value.Duration(&r.Limit, 0, 24*time.Hour), "limit", "longest time for one strategy, later work is lost; 0s: ten times the optimum, at least 1m")
	f.BoolVar(&o.json, "json", false, "write one JSON object per strategy and line to standard output, instead of the table")
	o.live = livepage.Flag(f)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *quick {
			shorten(f, short)
		}
		r.Only = o.order(w, r.Only)
		report, err := w.report()
		if f.Changed("factor") && !slices.ContainsFunc(r.Only, race.TakesFactor) {
			err = fmt.Errorf("--factor: makes no difference to --only %s, want it with tahoe or reno", strings.Join(r.Only, ","))
		}
		if err != nil {
			return cli.Usage(c, err)
		}
		if r.Limit == 0 {
			r.Limit = max(time.Minute, 10*w.Optimum(r.Operations))
		}
		return o.show(c, w, report)
	}
	return c
}

// shorten sets the flags that were not given.
func shorten(f *pflag.FlagSet, flags map[string]string) {
	for name, short := range flags {
		if !f.Changed(name) {
			_ = f.Lookup(name).Value.Set(short)
		}
	}
}

// order returns the chosen strategies in their order. If a page shows the windows at work, those without a limiter
// come last.
func (o *output) order(w work, chosen []string) []string {
	all := names(w)
	if *o.live {
		all = append(sim.Laws(), w.race().Rivals...)
	}
	return slices.DeleteFunc(all, func(name string) bool { return !slices.Contains(chosen, name) })
}

type output struct {
	json bool
	live *bool
}

// show runs the strategies and shows their results, also after an interruption or an error.
func (o *output) show(c *cobra.Command, w work, r Report) error {
	page, err := livepage.Serve(c, *o.live)
	if err != nil {
		return err
	}
	defer page.Close()
	display := &watcher{w: c.ErrOrStderr(), page: page}
	failed := w.race().Run(c.Context(), w, display.begin, func(x race.Result) error {
		display.end(x)
		r.Results = append(r.Results, x)
		if o.json {
			return json.NewEncoder(c.OutOrStdout()).Encode(x)
		}
		return nil
	})
	if display.line != nil { // or no run has begun
		display.line.Close()
	}
	if len(r.Results) > 0 && !o.json {
		failed = errors.Join(failed, r.Text(c.OutOrStdout()))
	}
	if failed = cmp.Or(failed, c.Context().Err()); failed == nil && !o.json {
		page.Stay(c.Context())
	}
	return failed
}

// watcher shows the runs, one after the other, and writes a line at the end of each.
type watcher struct {
	w    io.Writer
	page *livepage.Page
	// line shows the run that is under way.
	line *progress.Line
}

func (w *watcher) begin(strategy string, m *race.Meter) {
	w.page.Add(strategy, m.Limiter, m.Flow)
	w.line = progress.NewLine(w.w, progress.Every, func() string {
		s := m.Now()
		cwnd := ""
		if s.Cwnd > 0 {
			cwnd = fmt.Sprintf("cwnd %.1f  ", s.Cwnd)
		}
		return fmt.Sprintf("%-12s %5.1f s  %d/%d done  %s%d in flight  %d refused", strategy, s.At.Seconds(), s.Done, m.Operations, cwnd, s.InFlight, s.Refused)
	})
}

func (w *watcher) end(r race.Result) {
	w.line.Close()
	fmt.Fprintf(w.w, "%-12s %5.1f s  %d refused  %d lost\n", r.Strategy, r.MakespanS, r.Refused, r.Lost)
}
