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
	p := plan{out: os.Stdout, task: task{objects: 2000, size: 64 << 10, goroutines: 256, slots: 32, service: 100 * time.Millisecond}}
	flag.IntVar(&p.rounds, "rounds", 11, "rounds; in each, every contender has its turn, and medians are printed")
	flag.DurationVar(&p.turn, "turn", 100*time.Millisecond, "how long a turn takes")
	flag.IntVar(&p.uploads, "uploads", 3, "how often each contender uploads; medians are printed")
	flag.Parse()
	if p.rounds < 1 || p.turn <= 0 || p.uploads < 1 {
		fmt.Fprintln(os.Stderr, "benchmarks: want -rounds and -uploads of 1 or more, -turn above 0")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := p.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

type plan struct {
	rounds, uploads int
	turn            time.Duration
	task            task
	out             io.Writer
}

func (p plan) run(ctx context.Context) error {
	for _, l := range loads {
		if err := p.cost(ctx, l); err != nil {
			return err
		}
	}
	return p.control(ctx)
}

func (p plan) print(title string, header table.Row, rows []table.Row) {
	t := table.NewWriter()
	t.AppendHeader(header)
	t.AppendRows(rows)
	fmt.Fprintf(p.out, "### %s\n\n%s\n\n", title, t.RenderMarkdown())
}

// median writes the median of a figure of all runs.
func median[T any](format string, runs []T, figure func(T) float64) string {
	var all []float64
	for _, r := range runs {
		all = append(all, figure(r))
	}
	slices.Sort(all)
	return fmt.Sprintf(format, all[len(all)/2])
}

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

// measure is one run of one contender in one case. It has nanoseconds for each operation, over the nanoseconds of the
// reference, allocations, and Jain's fairness index of the grants of each goroutine.
type measure struct{ ns, ratio, allocs, jain float64 }

// run lets the goroutines take slots and give them back for about the time given.
func (l load) run(ctx context.Context, b bound, d time.Duration) (m measure) {
	work := func() bool {
		l.hold()
		return false
	}
	var stop atomic.Bool
	grants := make([]float64, l.goroutines)
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for i := range l.goroutines {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-start
			for !stop.Load() {
				for range l.batch {
					if b(ctx, work) != nil {
						return
					}
				}
				grants[i] += float64(l.batch)
			}
		})
	}
	ready.Wait()
	before, began := mallocs(), time.Now()
	close(start)
	time.Sleep(d)
	stop.Store(true)
	done.Wait()
	took, total := time.Since(began), 0.0
	for _, n := range grants {
		total += n
	}
	return measure{ns: float64(took) / total, allocs: float64(mallocs()-before) / total, jain: jain(grants)}
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// jain is (sum x)^2 / (n * sum x^2), Jain's fairness index: 1 if all got the same.
func jain(all []float64) float64 {
	var s, squares float64
	for _, n := range all {
		s += n
		squares += n * n
	}
	return s * s / (float64(len(all)) * squares)
}

// cost prints the cost of acquire and release, as ratios to the reference in the same round, so
// that other work on the machine cancels out.
func (p plan) cost(ctx context.Context, l load) error {
	runs := make([][]measure, len(contenders))
	for round := range p.rounds {
		fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", l.name, round+1, p.rounds)
		var base float64
		for i, c := range contenders {
			m := l.run(ctx, c.fixed(l.slots), p.turn)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if c.name == reference {
				base = m.ns
			}
			m.ratio = m.ns / base
			runs[i] = append(runs[i], m)
		}
	}
	var rows []table.Row
	for i, c := range contenders {
		rows = append(rows, table.Row{c.name,
			median("%.2f", runs[i], func(m measure) float64 { return m.ratio }),
			median("%.0f", runs[i], func(m measure) float64 { return m.ns }),
			median("%.1f", runs[i], func(m measure) float64 { return m.allocs }),
			median("%.4f", runs[i], func(m measure) float64 { return m.jain })})
	}
	p.print("Acquire and release, "+l.name, table.Row{"", "times the semaphore", "ns", "allocations", "Jain's index"}, rows)
	return nil
}
