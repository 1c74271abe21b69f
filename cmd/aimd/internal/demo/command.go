// Package demo does the same work with several strategies, against a service that refuses what is too much.
package demo

import (
	"cmp"
	"embed"
	"iter"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/race"
	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/sim"
)

//go:embed help
var help embed.FS

// work is the work of a demo.
type work interface {
	race.Work
	race() *race.Race
	// rivals are the names of the strategies without a limiter: scripts know them.
	rivals() []string
	// flags adds the work's own flags, and returns the flag for a short run.
	flags(f *pflag.FlagSet) (quick *bool)
	// quick returns the flags of a short run; live: it is to be watched.
	quick(live bool) map[string]string
	// check checks the flags that depend on others.
	check() error
	report() Report
}

// names are the names of all strategies: without a limiter, then with a limiter of each law.
func names(w work) []string { return append(w.rivals(), sim.Laws()...) }

// Command is aimd demo, with aimd demo api below it.
func Command() *cobra.Command {
	c := command(newUploads(), "aimd-demo.html", &cobra.Command{
		Use: "demo", Short: "Upload objects to a store that says SlowDown, once per strategy",
	})
	c.AddCommand(command(newJobs(), "aimd-demo-api.html", &cobra.Command{
		Use: "api", Short: "Send requests to an API that says 429, once per strategy",
	}))
	return c
}

func command(w work, page string, c *cobra.Command) *cobra.Command {
	c = cli.Help(help, c)
	c.Args = cli.NoArgs
	f, r, o := cli.Flags(c), w.race(), new(output)
	quick := w.flags(f)
	r.Only = names(w)
	f.Var(value.Factor(&r.Factor), "factor", "the share of the window that tahoe and reno keep at a cut")
	f.Var(value.Names(&r.Only, names(w)), "only", "which strategies to run")
	cli.Complete(c, "only", names(w))
	f.Var(value.Duration(&r.Limit, 0, 24*time.Hour), "limit", "longest time for one strategy, later work is lost; 0s: ten times the optimum, at least 1m")
	o.flags(f, page)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *quick {
			shorten(f, w.quick(*o.live))
		}
		r.Only = o.order(names(w), r.Only)
		if err := cmp.Or(strategy.CheckFactor(f.Changed("factor"), "--only", r.Only...), w.check()); err != nil {
			return cli.Usage(c, err)
		}
		if r.Limit == 0 {
			r.Limit = max(time.Minute, 10*w.Optimum(r.Operations))
		}
		return o.show(c, w.report(), func(begin func(string, *race.Meter)) iter.Seq2[race.Result, error] {
			return r.Run(c.Context(), w, begin)
		})
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

// order returns the chosen strategies in the order of all. If a page shows the windows at
// work, those without a limiter come last.
func (o *output) order(all, chosen []string) []string {
	all = slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !slices.Contains(chosen, name) })
	if *o.live {
		laws := sim.Laws()
		slices.SortStableFunc(all, func(a, b string) int {
			return cmp.Compare(min(slices.Index(laws, b), 0), min(slices.Index(laws, a), 0))
		})
	}
	return all
}
