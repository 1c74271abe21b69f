package delays

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

const tableLong = `Table shows the delays before the retries of an operation that fails and fails,
as 1000 clients draw them: the shortest, the median and the longest, and the
median of the time that all the delays up to this retry take.

Forms:
  exponential    min * factor^(N-1) up to max, then jitter; with --cap-last,
                 jitter and then up to max
  compound       each delay grows from the one before, jitter included
  decorrelated   random between min and factor (3) times the delay before, up
                 to max
  fibonacci      min times 1, 1, 2, 3, 5, 8... up to max, then jitter
  constant       min, then jitter
  last-try       min (1s) * factor^(N-1) while less than max (10s), then no
                 more; then jitter

and with the parameters of the five texts (docs/sources.md); those in
parentheses are ours, where the text gives none:
  crash-blue     compound: 100ms, 2.7, 10m; normal:0.1
  crash-green    compound: 1s, 1.5, 5m; normal:0.1
  ethernet       exponential: (100ms), 2, (30s); uniform:1:2, cap last
  clojure        last-try: 1s, 2, 10s
  safe-clients   last-try: 10s, 2, up to 300s; proportional:0.5
  syncmusings    exponential: 50ms, 2, 30s; (proportional:0.6, cap last)

Jitter of a delay d:
  none             d
  full             d * U(0, 1), which spreads best
  equal            d * U(1/2, 1)
  proportional:J   d * U(1-J, 1+J)
  uniform:LO:HI    d * U(LO, HI)
  normal:J         d * (1 + J * N(0, 1)), not less than 0`

const tableExample = `  aimd backoff table                                # 100ms doubling to 30s
  aimd backoff table --jitter full --max 10s --retries 8
  aimd backoff table --form decorrelated --attempts 5
  aimd backoff table --form clojure
  aimd backoff table --json | jq -c '[.retry, .median_s]'`

func tableCommand() *cobra.Command {
	form := NewForm(backoff.Jitter{})
	attempts, elapsed, retries, asJSON := 0, time.Duration(0), 12, false
	c := &cobra.Command{
		Use: "table", Short: "Show the delays of a form of backoff",
		Long: tableLong, Example: tableExample, Args: cli.NoArgs,
	}
	f := cli.Flags(c)
	form.Flags(c)
	f.Var(value.Whole(&attempts, 1, 1_000_000), "attempts", "no more after so many attempts, the first one included")
	f.Var(value.Duration(&elapsed, 1, backoff.MaxDelay), "elapsed", "no retry that would begin later than so long after the first attempt")
	f.Var(value.Whole(&retries, 1, 1000), "retries", "how many retries to show")
	f.BoolVar(&asJSON, "json", false, "write one JSON object per retry and line, instead of the table; times in seconds")
	cli.NoDefault(f, "attempts", "elapsed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		r, err := form.Retry(c)
		if err != nil {
			return err
		}
		r.Attempts, r.Elapsed = attempts, elapsed
		rows := drawDelays(r.Delays(), retries)
		if !asJSON {
			return writeRows(c.OutOrStdout(), rows, retries)
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

// delayRow is what many clients wait before one retry.
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
