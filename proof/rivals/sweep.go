package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// sweeps are the strategies of the sweep: ours, the strategies of the tool without a law of ours,
// and the laws of others. These look at the times of answers or at refusals of single calls, as
// clients in front of one service have them.
var sweeps = []string{"probe", "reno-0.9", "reno-0.5", "tahoe-0.9", "tahoe-0.5", "semaphore", "none", "failsafe", "gradient2", "dialogue", "netflix-vegas", "arc", "aws-adaptive"}

const sweepUsage = `Sweep plays aimd sim sweep with laws of others, and writes the table of
docs/laws.md: what is done over what the service takes, the 99th percentile of
the times of that, and the attempts for each done. gradient2 is Netflix's, of
which Envoy's gradient is one. A law of others is in our limiter, which queues
and turns away for all alike. It takes some minutes.

`

// sweepCommand is the command with these words, and returns its exit status.
func sweepCommand(args []string, stdout, stderr io.Writer) int {
	f := flag.NewFlagSet("sweep", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { fmt.Fprint(f.Output(), sweepUsage); f.PrintDefaults() }
	asJSON := f.Bool("json", false, "write one JSON object for each point and line, as aimd sim sweep --json")
	only := f.String("strategies", strings.Join(sweeps, ","), "play these strategies")
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	self, err := os.Executable()
	if err == nil {
		c := exec.Command(self, "sim", "sweep", "--json", "--strategies", *only)
		c.Stderr = stderr
		var out []byte
		if out, err = c.Output(); err == nil && *asJSON {
			_, err = stdout.Write(out)
		} else if err == nil {
			err = sweepTables(stdout, out, strings.Split(*only, ","))
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, "rivals:", err)
		return 1
	}
	return 0
}

// sweepPoint is a line of aimd sim sweep --json.
type sweepPoint struct {
	Scenario, Strategy string
	Goodput, Attempts  float64
	P99                float64 `json:"p99_s"`
	Below, Of          int
}

// sweepTables writes the means over the services for each load, and where ours is more than .02 below the best.
func sweepTables(w io.Writer, out []byte, names []string) error {
	points := map[[2]string]sweepPoint{}
	var loads, scenarios []string
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p sweepPoint
		if err := d.Decode(&p); err != nil {
			return err
		}
		points[[2]string{p.Scenario, p.Strategy}] = p
		if load, mean := strings.CutPrefix(p.Scenario, "mean at "); mean && !slices.Contains(loads, load) {
			loads = append(loads, load)
		} else if !mean && p.Of == 0 && !slices.Contains(scenarios, p.Scenario) {
			scenarios = append(scenarios, p.Scenario)
		}
	}
	fmt.Fprintf(w, "| load: goodput, p99, attempts | %s |\n|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)+1))
	row := func(head string, cell func(name string) string) {
		fmt.Fprintf(w, "| %s |", head)
		for _, name := range names {
			fmt.Fprintf(w, " %s |", cell(name))
		}
		fmt.Fprintln(w)
	}
	for _, load := range loads {
		row(load, func(name string) string {
			p := points[[2]string{"mean at " + load, name}]
			return fmt.Sprintf("%.2f, %.2f s, %.2f", p.Goodput, p.P99, p.Attempts)
		})
	}
	row("below the best", func(name string) string {
		p := points[[2]string{"below the best", name}]
		return fmt.Sprintf("%d of %d", p.Below, p.Of)
	})
	fmt.Fprintf(w, "\n| below the best | %s | the best there |\n|---|---|---|\n", ours)
	for _, s := range scenarios {
		us, best := points[[2]string{s, ours}], sweepPoint{}
		for _, name := range names {
			if p := points[[2]string{s, name}]; p.Goodput > best.Goodput {
				best = p
			}
		}
		if us.Goodput < best.Goodput-0.02 {
			fmt.Fprintf(w, "| %s | %.2f | %.2f %s |\n", s, us.Goodput, best.Goodput, best.Strategy)
		}
	}
	return nil
}
