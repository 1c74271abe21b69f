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
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
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

// load is a case: a number of goroutines on a number of slots.
type load struct {
	name              string
	goroutines, slots int
	// hold is called with the slot. batch cycles come between two looks at the time.
	hold  func()
	batch int64
}

var loads = []load{
	{"1 goroutine", 1, 20, func() {}, 1000},
	// A goroutine with a slot lets others run, so that all slots are taken and the rest wait.
	{"64 goroutines on 16 slots", 64, 16, runtime.Gosched, 1},
	{"10 000 goroutines on 16 slots", 10_000, 16, runtime.Gosched, 1},
}

// measure is one run of one contender in one case: nanoseconds for each operation, over those of
// the reference, and allocations.
type measure struct {
	ns, ratio, allocs float64
	// jain is Jain's fairness index of the grants of each goroutine, 1 if all got the same;
	// least is the smallest number of grants.
	jain, least float64
	// stranded is true if goroutines still waited when all slots were free.
	stranded bool
}

// patience is the time that goroutines may take to come to an end.
const patience = 30 * time.Second

// run lets the goroutines acquire and release for about the time given.
func (l load) run(c contender, d time.Duration) (m measure) {
	b := c.fixed(l.slots)
	var stop atomic.Bool
	grants := make([]int64, l.goroutines)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range l.goroutines {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			for !stop.Load() {
				for range l.batch {
					b.cycle(l.hold)
				}
				grants[i] += l.batch
			}
		})
	}
	ready.Wait()
	before, began := mallocs(), time.Now()
	close(start)
	time.Sleep(d)
	stop.Store(true)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		done.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		return measure{stranded: true}
	}
	took, total := time.Since(began), 0.0
	for _, n := range grants {
		total += float64(n)
	}
	m.ns, m.allocs = float64(took)/total, float64(mallocs()-before)/total
	m.jain, m.least = jain(grants), float64(slices.Min(grants))
	return m
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// jain is (sum x)^2 / (n * sum x^2), Jain's fairness index.
func jain(all []int64) float64 {
	var s, squares float64
	for _, n := range all {
		s += float64(n)
		squares += float64(n) * float64(n)
	}
	if squares == 0 {
		return 0
	}
	return s * s / (float64(len(all)) * squares)
}

// cost prints the cost of acquire and release, as ratios to the reference in the same round, so
// that other work on the machine cancels out.
func (p plan) cost(ctx context.Context, w io.Writer) error {
	for _, l := range loads {
		runs := make([][]measure, len(contenders))
		for round := range p.rounds {
			progress("%s: round %d of %d", l.name, round+1, p.rounds)
			var base float64
			for i, c := range contenders {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				m := l.run(c, p.turn)
				if c.name == reference {
					base = m.ns
				}
				m.ratio = m.ns / base
				runs[i] = append(runs[i], m)
			}
		}
		var rows []table.Row
		for i, c := range contenders {
			rows = append(rows, l.row(c.name, runs[i]))
		}
		markdown(w, "Acquire and release, "+l.name, table.Row{"", "times the semaphore", "ns", "allocations", "Jain's index", "fewest grants"}, rows)
	}
	return nil
}

func (l load) row(name string, runs []measure) table.Row {
	if slices.ContainsFunc(runs, func(m measure) bool { return m.stranded }) {
		return table.Row{name, "strands waiters", "", "", "", ""}
	}
	row := table.Row{
		name,
		median("%.2f", runs, func(m measure) float64 { return m.ratio }),
		median("%.0f", runs, func(m measure) float64 { return m.ns }),
		median("%.1f", runs, func(m measure) float64 { return m.allocs }), "", "",
	}
	if l.goroutines > 1 {
		row[4] = median("%.4f", runs, func(m measure) float64 { return m.jain })
		row[5] = median("%.0f", runs, func(m measure) float64 { return m.least })
	}
	return row
}
