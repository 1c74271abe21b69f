package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/measure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/figure"
	"github.com/aimd-go/aimd/cmd/aimd/internal/livepage"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

type output struct {
	json          bool
	html, figures string
	live          livepage.Choice
}

func race(f *pflag.FlagSet, factor *float64, only *[]string, all []string) {
	f.Var(value.Factor(factor), "factor", "what tahoe and reno keep of the window at a cut")
	f.Var(value.Names(only, all), "only", "which strategies to run")
}

func limitFlag(f *pflag.FlagSet, limit *time.Duration) {
	f.Var(value.Duration(limit, 0, 24*time.Hour), "limit", "longest time for one strategy, what is not done by then is lost; 0s: ten times the optimum, at least 1m")
}

func limitOf(limit, optimum time.Duration) time.Duration {
	if limit > 0 {
		return limit
	}
	return max(time.Minute, 10*optimum)
}

func (o *output) flags(f *pflag.FlagSet, page string) {
	f.BoolVar(&o.json, "json", false, "write one JSON object per strategy and line to standard output, instead of the table; the page only with --html")
	f.StringVar(&o.html, "html", page, "write a page with table and curves to this `file`; '' for none")
	f.StringVar(&o.figures, "figures", "", "write the curves as SVG and PNG into this `directory`")
	o.live.Flags(f)
}

func (o *output) check(c *cobra.Command) error {
	if o.json && !c.Flags().Changed("html") {
		o.html = ""
	}
	if err := cli.CheckFile("html", o.html); err != nil {
		return cli.Usage(c, err)
	}
	return cli.Usage(c, cli.MakeDir("figures", o.figures))
}

// show runs the strategies and shows what is known in the end, also after an
// interruption or an error.
func (o *output) show(c *cobra.Command, r Report, run func(context.Context, measure.Watcher) iter.Seq2[measure.Result, error]) error {
	if err := o.check(c); err != nil {
		return err
	}
	r.Command = cli.Line(c)
	page, err := o.live.Serve(c)
	if err != nil {
		return err
	}
	defer page.Close()
	display := &watcher{w: c.ErrOrStderr(), page: page}
	interrupted := false
	var failed error
	for x, err := range run(c.Context(), display) {
		if err != nil {
			failed = err
			break
		}
		r.Results = append(r.Results, x)
		interrupted = interrupted || x.Interrupted
		if o.json {
			failed = errors.Join(failed, json.NewEncoder(c.OutOrStdout()).Encode(x))
		}
	}
	display.close()
	if len(r.Results) > 0 {
		failed = errors.Join(failed, o.write(c, r))
	}
	if failed == nil && (interrupted || c.Context().Err() != nil) {
		return cli.ErrInterrupted
	}
	if failed == nil && !o.json {
		page.Stay(c.Context())
	}
	return failed
}

func (o *output) write(c *cobra.Command, r Report) error {
	say := c.OutOrStdout()
	if o.json {
		say = c.ErrOrStderr()
	} else if err := r.Text(say); err != nil {
		return err
	}
	if err := cli.WriteFile("html", o.html, r.Page().HTML); err != nil {
		return err
	}
	if o.html != "" {
		fmt.Fprintln(say, "Page with the curves:", o.html)
	}
	if o.figures == "" {
		return nil
	}
	var files []string
	for _, f := range r.figures() {
		written, err := f.Write(o.figures, figure.SVG, figure.PNG)
		if err != nil {
			return fmt.Errorf("--figures: %w", err)
		}
		files = append(files, written...)
	}
	fmt.Fprintln(say, "Figures:", strings.Join(files, " "))
	return nil
}
