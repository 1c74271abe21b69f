package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// published are services that others measured: each file names its source.
//
//go:embed published
var published embed.FS

// builtins are our own services of the matrix: slots, rates, a client that is stopped, services that only get
// slower, an outage, and fleets.
var builtins = []string{
	"law-50-slots-jitter", "law-slots-fall-and-rise", "law-1-client-500-slots", "law-5000-slots", "law-store-8-100ms",
	"law-random-refusals", "law-100-a-second", "law-3-a-second", "law-100-a-second-refused-count",
	"law-ordinary-300-a-second", "law-ordinary-pool", "law-ordinary-upload", "law-slowdown", "law-thrashing",
	"law-uplink-16", "law-outage-errors", "law-10-clients-50-slots", "law-100-clients-50-slots",
}

// ours is the law of aimd.New.
const ours = "probe"

// tolerance is the greatest ratio of a row that is no loss.
const tolerance = 1.1

//go:embed matrix.txt
var usage string

// matrix is the command with these words, and returns its exit status: as aimd's, 130 after an interruption.
func matrix(args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("matrix", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { fmt.Fprint(f.Output(), usage); f.PrintDefaults() }
	runs := f.Int("runs", 5, "runs of each law at each service")
	asJSON := f.Bool("json", false, "write one JSON object for each service and line")
	figure := f.String("figure", "", "write a figure into this SVG `file`: our time and the best of the others")
	if slices.Contains(args, "-h") || slices.Contains(args, "--help") {
		f.SetOutput(stdout)
	}
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	rows, err := play(ctx, f.Args(), *runs, stderr)
	if err == nil && *figure != "" {
		err = os.WriteFile(*figure, draw(rows), 0o644)
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 130
	case errors.As(err, &exit):
		return exit.ExitCode() // the tool has said why
	case err != nil:
		fmt.Fprintln(stderr, "rivals:", err)
		return 1
	case *asJSON:
		for _, r := range rows {
			_ = json.NewEncoder(stdout).Encode(r)
		}
	default:
		fmt.Fprint(stdout, markdown(rows))
	}
	return 0
}

// cell is what one law showed at one service.
type cell struct {
	Law string `json:"law"`
	// Time is the median in times of the optimum, Attempts the median for each operation.
	Time     float64 `json:"time"`
	Attempts float64 `json:"attempts"`
	// Ends: all operations were done in all runs. Otherwise Time is a lower bound.
	Ends bool `json:"ends"`
}

// row is one service.
type row struct {
	Service string `json:"service"`
	Laws    []cell `json:"laws"`
}

func (r row) ours() cell {
	return r.Laws[slices.IndexFunc(r.Laws, func(c cell) bool { return c.Law == ours })]
}

// rest is the cell of the quickest other law that finishes. Its Ends is false if no other law does.
func (r row) rest() (best cell) {
	for _, c := range r.Laws {
		if c.Law != ours && c.Ends && (!best.Ends || c.Time < best.Time) {
			best = c
		}
	}
	return best
}

// ratio is our time over the time of rest; 0 if no other law finishes.
func (r row) ratio() float64 {
	us, best := r.ours(), r.rest()
	switch {
	case !best.Ends:
		return 0
	case !us.Ends:
		return math.Inf(1)
	}
	return us.Time / best.Time
}

func (r row) lost() bool { return r.ratio() > tolerance }

// play runs the services in the tool itself, which is this program, and reads what it wrote.
func play(ctx context.Context, names []string, runs int, stderr io.Writer) (rows []row, err error) {
	dir, err := os.MkdirTemp("", "rivals")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err = os.CopyFS(dir, published); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names, _ = filepath.Glob(filepath.Join(dir, "published", "*.yaml"))
		names = append(names, builtins...)
	}
	laws := ours + ",reno-0.9"
	for _, r := range rivals {
		laws += "," + r.name
	}
	// No operation is background work with so small a share, but then the tool says how many of the others are done.
	args := []string{"sim", "run", "--json", "--runs", strconv.Itoa(runs), "--strategies", laws, "--set", "clients.background=1e-9", "--"}
	for _, name := range names {
		file := filepath.Join(dir, "published", name+".yaml")
		if _, err := os.Stat(file); err == nil {
			name = file
		}
		args = append(args, name)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, self, args...)
	c.Stderr, c.WaitDelay = stderr, 10*time.Second
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	out, err := c.Output()
	if err != nil {
		return nil, err
	}
	return read(out)
}

// read reads what the tool wrote: a line for each service and law.
func read(out []byte) (rows []row, err error) {
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var x struct {
			Scenario, Strategy string
			Set                map[string]string
			Span               struct{ Median float64 }
			Attempts           struct{ Median float64 } `json:"attempts_per_op"`
			Done               struct{ Min float64 }    `json:"interactive_done"`
		}
		if err = d.Decode(&x); err != nil {
			return nil, err
		}
		for _, field := range slices.Sorted(maps.Keys(x.Set)) {
			x.Scenario += " " + field + "=" + x.Set[field]
		}
		if len(rows) == 0 || rows[len(rows)-1].Service != x.Scenario {
			if x.Span.Median == 0 { // of the first law; others may have no end
				return nil, fmt.Errorf("%s: there is no optimum; want clients.operations, and a service that takes time", x.Scenario)
			}
			rows = append(rows, row{Service: x.Scenario})
		}
		r := &rows[len(rows)-1]
		r.Laws = append(r.Laws, cell{x.Strategy, x.Span.Median, x.Attempts.Median, x.Done.Min == 1})
	}
	return rows, nil
}

func (c cell) String() string {
	if !c.Ends {
		return "no end"
	}
	return short(c.Time) + " @ " + short(c.Attempts)
}

// short is a number with three digits that count, as in the other tables.
func short(v float64) string {
	digits := 2
	for limit := 9.995; v >= limit && digits > 0; limit *= 10 {
		digits--
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// mean is the geometric mean of a law's time and attempts over the services at which it finishes.
func mean(rows []row, law int) (time, attempts float64) {
	n := 0.
	for _, r := range rows {
		if c := r.Laws[law]; c.Ends {
			n++
			time, attempts = time+math.Log(c.Time), attempts+math.Log(c.Attempts)
		}
	}
	return math.Exp(time / max(1, n)), math.Exp(attempts / max(1, n))
}

// markdown has a row for each service, bold if it is lost, and a column for each law. The last rows count the
// services at which a law is within the tolerance of the quickest, and have its means.
func markdown(rows []row) string {
	var b strings.Builder
	near := make([]int, len(rows[0].Laws))
	b.WriteString("| service: time @ attempts |")
	for _, c := range rows[0].Laws {
		b.WriteString(" " + c.Law + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(near)) + "\n")
	for _, r := range rows {
		mark, best := "", r.rest()
		if us := r.ours(); us.Ends && !(best.Ends && best.Time < us.Time) {
			best = us
		}
		if r.lost() {
			mark = "**"
		}
		b.WriteString("| " + mark + r.Service + mark + " |")
		for i, c := range r.Laws {
			text := c.String()
			if c.Law == ours {
				text = mark + text + mark
			}
			if c.Ends && c.Time <= tolerance*best.Time {
				near[i]++
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "| within %v times the quickest |", tolerance)
	for _, n := range near {
		fmt.Fprintf(&b, " %d of %d |", n, len(rows))
	}
	b.WriteString("\n| geometric means where it finishes |")
	for i := range near {
		time, attempts := mean(rows, i)
		b.WriteString(" " + short(time) + ", " + short(attempts) + " |")
	}
	return b.String() + "\n"
}
