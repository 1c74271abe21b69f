// Command benchmarks measures the limiter and its peers in one run: the cost of a slot, and
// the time and attempts of each at a store that refuses more than its slots. It prints
// Markdown.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

func main() {
	var p plan
	flag.IntVar(&p.rounds, "rounds", 11, "rounds; in each, every contender has its turn, and medians are printed")
	flag.DurationVar(&p.turn, "turn", 100*time.Millisecond, "how long a turn takes")
	flag.IntVar(&p.uploads, "uploads", 3, "how often each strategy uploads; medians are printed")
	p.task = bulk
	flag.IntVar(&p.task.objects, "objects", bulk.objects, "objects to upload; stores of other sizes get as many more or fewer")
	flag.BoolVar(&p.onlyStores, "only-stores", false, "measure only how Probe fares beside Reno at stores of several sizes")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "Measures aimd and its peers, and prints Markdown tables. Takes about twelve minutes.\n\nFlags:")
		flag.PrintDefaults()
	}
	flag.Parse()
	if p.rounds < 1 || p.turn <= 0 || p.uploads < 1 || p.task.objects < 1 {
		fmt.Fprintln(os.Stderr, "benchmarks: want -rounds, -uploads and -objects of 1 or more, -turn above 0")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := p.run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

// plan is what to measure.
type plan struct {
	rounds, uploads int
	turn            time.Duration
	task            task
	onlyStores      bool
}

func (p plan) run(ctx context.Context, w io.Writer) error {
	parts := []func(context.Context, io.Writer) error{p.cost, p.control, p.stores}
	if p.onlyStores {
		parts = parts[2:]
	}
	for _, part := range parts {
		if err := part(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

func markdown(w io.Writer, title string, header table.Row, rows []table.Row) {
	t := table.NewWriter()
	t.AppendHeader(header)
	t.AppendRows(rows)
	fmt.Fprintf(w, "### %s\n\n%s\n\n", title, t.RenderMarkdown())
}

// median writes the median of a figure of all runs.
func median[T any](format string, runs []T, figure func(T) float64) string {
	var all []float64
	for _, r := range runs {
		all = append(all, figure(r))
	}
	return fmt.Sprintf(format, middle(all))
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// progress reports on standard error which part is being measured.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
