package delays

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/sim"
)

type choice struct {
	form    string
	own     sim.Retry
	retries int
}

func tableCommand() *cobra.Command {
	t := choice{form: sim.ExponentialRetry, retries: 12}
	asJSON := false
	c := cli.Help(help, &cobra.Command{
		Use: "table", Short: "Show the delays of a form of backoff", Args: cli.NoArgs,
	})
	f := cli.Flags(c)
	t.flags(f)
	f.BoolVar(&asJSON, "json", false, "write one JSON object per retry and line, instead of the table; times in seconds")
	cli.Complete(c, "form", forms())
	cli.Complete(c, "jitter", []string{"none", "full", "equal", "proportional:", "uniform:", "normal:"})
	c.RunE = func(c *cobra.Command, _ []string) error {
		b, err := t.backoff(f)
		if err != nil {
			return cli.Usage(c, err)
		}
		rows := drawDelays(b, t.retries)
		if !asJSON {
			return writeRows(c.OutOrStdout(), rows, t.retries)
		}
		for _, r := range rows {
			if err := json.NewEncoder(c.OutOrStdout()).Encode(r.json()); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func (t *choice) flags(f *pflag.FlagSet) {
	r := &t.own
	f.StringVar(&t.form, "form", t.form, "which `form`, of those above")
	f.Var(value.Duration(&r.Min, 1, backoff.MaxDelay), "min", "first delay; without it 100ms, or what stands above")
	f.Var(value.Duration(&r.Max, 1, backoff.MaxDelay), "max", "longest delay; without it 30s, or what stands above")
	f.Var(value.Decimal(&r.Factor, 1, backoff.MaxFactor), "factor", "by how much each delay is longer, from 1; without it 2, or what stands above")
	f.TextVar(&r.Jitter, "jitter", backoff.Jitter{}, "what is random, a `form` of those above")
	f.BoolVar(&r.CapLast, "cap-last", false, "the longest delay bounds what comes out of the jitter, not what goes in")
	f.Var(value.Whole(&r.Attempts, 1, 1_000_000), "attempts", "no more after so many attempts, the first one included")
	f.Var(value.Duration(&r.Elapsed, 1, backoff.MaxDelay), "elapsed", "no retry that would begin later than so long after the first attempt")
	f.Var(value.Whole(&t.retries, 1, 1000), "retries", "how many retries to show")
	cli.NoDefault(f, "min", "max", "factor", "attempts", "elapsed")
}

func (t choice) backoff(f *pflag.FlagSet) (backoff.Backoff, error) {
	r, complete, known := formNamed(t.form)
	if !known {
		return nil, fmt.Errorf("--form %s: is not known, want one of %s%s", t.form, strings.Join(forms(), ", "), cli.DidYouMean(t.form, "", forms()))
	}
	for _, name := range settings[sim.ExponentialRetry] {
		if f.Changed(name) && (complete || !Takes(r.Kind, name)) {
			return nil, fmt.Errorf("--%s: does not go with --form %s", name, t.form)
		}
	}
	if !complete {
		least := r.Min
		kind := r.Kind
		r = t.own
		r.Kind = kind
		if r.Min == 0 {
			r.Min = least
		}
	}
	r.Attempts, r.Elapsed = t.own.Attempts, t.own.Elapsed
	b := r.Delays()
	if err := backoff.Check(b); err != nil {
		// Each flag by itself is right, but --min may be longer than --max.
		return nil, fmt.Errorf("--min: %w, the longest delay", err)
	}
	return b, nil
}

type delayRow struct {
	retry                              int
	shortest, median, longest, elapsed time.Duration
	// clients are those that have this retry.
	clients int
}

// delayClients is how many clients draw their delays.
const delayClients = 1000

// drawDelays has many clients draw their delays, always the same.
func drawDelays(b backoff.Backoff, retries int) []delayRow {
	r := rand.New(rand.NewPCG(0, 0))
	delays, elapsed := make([][]time.Duration, retries), make([][]time.Duration, retries)
	for range delayClients {
		var s backoff.State
		for i := range retries {
			s.Retry++
			d, ok := b.Delay(s, r)
			if !ok {
				break
			}
			s.Last, s.Elapsed = d, min(s.Elapsed+d, backoff.MaxDelay)
			delays[i], elapsed[i] = append(delays[i], d), append(elapsed[i], s.Elapsed)
		}
	}
	var rows []delayRow
	for i, d := range delays {
		n := len(d)
		if n == 0 {
			break
		}
		slices.Sort(d)
		slices.Sort(elapsed[i])
		rows = append(rows, delayRow{i + 1, d[0], d[n/2], d[n-1], elapsed[i][n/2], n})
	}
	return rows
}

func (r delayRow) json() any {
	return struct {
		Retry    int     `json:"retry"`
		Clients  int     `json:"clients"`
		Shortest float64 `json:"shortest_s"`
		Median   float64 `json:"median_s"`
		Longest  float64 `json:"longest_s"`
		Elapsed  float64 `json:"elapsed_s"`
	}{r.retry, r.clients, r.shortest.Seconds(), r.median.Seconds(), r.longest.Seconds(), r.elapsed.Seconds()}
}

func writeRows(w io.Writer, rows []delayRow, retries int) error {
	t := table.Table{Columns: []table.Column{{Head: "retry"}, {Head: "shortest"}, {Head: "median"}, {Head: "longest"}, {Head: "elapsed"}}}
	some := ""
	for _, r := range rows {
		n := fmt.Sprint(r.retry)
		if r.clients < delayClients {
			n, some = n+"*", "* for some of the clients only"
		}
		t.Rows = append(t.Rows, []table.Cell{{Text: n}, {Text: rounded(r.shortest)}, {Text: rounded(r.median)}, {Text: rounded(r.longest)}, {Text: rounded(r.elapsed)}})
	}
	if err := t.Write(w); err != nil {
		return err
	}
	end := ""
	if len(rows) < retries {
		end = "Then no more."
	}
	return table.Paragraphs(w, some, end)
}
