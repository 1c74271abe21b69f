package command

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

const backoffTableLong = `Table shows the delays before the retries of an operation that fails and fails, as 1000
clients draw them: the shortest, the median and the longest, and the median of the time
that all the delays up to this retry take.

Forms:
  exponential    min * factor^(N-1) up to max, then jitter; with --cap-last, jitter and
                 then up to max
  compound       each delay grows from the one before, jitter included
  decorrelated   random between min and factor (3) times the delay before, up to max
  fibonacci      min times 1, 1, 2, 3, 5, 8... up to max, then jitter
  constant       min, then jitter
  last-try       min (1s) * factor^(N-1) while less than max (10s), then no more; then jitter

and with their published parameters:
  seed0-blue, seed0-green   compound: 100ms, 2.7, 10m and 1s, 1.5, 5m; normal:0.1
  seed1                     exponential: 100ms, 2, 30s; uniform:1:2, cap last
  seed2                     last-try: 1s, 2, 10s
  seed3                     last-try: 10s, 2, up to 300s; proportional:0.5
  seed4                     exponential: 50ms, 2, 30s; proportional:0.6, cap last

Jitter of a delay d:
  none             d
  full             d * U(0, 1), which spreads best
  equal            d * U(1/2, 1)
  proportional:J   d * U(1-J, 1+J)
  uniform:LO:HI    d * U(LO, HI)
  normal:J         d * (1 + J * N(0, 1)), not less than 0`

const backoffTableExample = `  aimd backoff table                                      # 100ms doubling to 30s
  aimd backoff table --jitter full --max 10s --retries 8
  aimd backoff table --form decorrelated --attempts 5
  aimd backoff table --form seed2
  aimd backoff table --json | jq -c '[.retry, .median_s]'`

// delayTable is what the flags say.
type delayTable struct {
	form              string
	min, max, elapsed time.Duration
	factor            float64
	jitter            backoff.Jitter
	capLast           bool
	attempts, retries int
}

// backoffForms are the makers of each form, and the flags that it takes beside those
// that all take.
var backoffForms = map[string]struct {
	flags []string
	make  func(delayTable) backoff.Backoff
}{
	"exponential": {[]string{"min", "max", "factor", "jitter", "cap-last"}, func(c delayTable) backoff.Backoff {
		order := backoff.CapThenJitter
		if c.capLast {
			order = backoff.JitterThenCap
		}
		return backoff.Exponential{Min: c.min, Max: c.max, Factor: c.factor, Jitter: c.jitter, Order: order}
	}},
	"compound": {[]string{"min", "max", "factor", "jitter"}, func(c delayTable) backoff.Backoff {
		return backoff.Compound{Min: c.min, Max: c.max, Factor: c.factor, Jitter: c.jitter}
	}},
	"decorrelated": {[]string{"min", "max", "factor"}, func(c delayTable) backoff.Backoff {
		return backoff.Decorrelated{Min: c.min, Max: c.max, Factor: c.factor}
	}},
	"fibonacci": {[]string{"min", "max", "jitter"}, func(c delayTable) backoff.Backoff {
		return backoff.WithJitter(backoff.Fibonacci{Min: c.min, Max: c.max}, c.jitter)
	}},
	"constant": {[]string{"min", "jitter"}, func(c delayTable) backoff.Backoff {
		if c.min == 0 {
			c.min = backoff.DefaultMin
		}
		return backoff.WithJitter(backoff.Constant(c.min), c.jitter)
	}},
	"last-try": {[]string{"min", "max", "factor", "jitter"}, func(c delayTable) backoff.Backoff {
		return backoff.WithJitter(backoff.LastTry{Time: c.min, Max: c.max, Rate: c.factor}, c.jitter)
	}},
	"seed0-blue": {nil, func(delayTable) backoff.Backoff {
		return backoff.Compound{Min: 100 * time.Millisecond, Max: 10 * time.Minute, Factor: 2.7, Jitter: backoff.Normal(0.1)}
	}},
	"seed0-green": {nil, func(delayTable) backoff.Backoff {
		return backoff.Compound{Min: time.Second, Max: 5 * time.Minute, Factor: 1.5, Jitter: backoff.Normal(0.1)}
	}},
	"seed1": {nil, func(delayTable) backoff.Backoff {
		return backoff.Exponential{Jitter: backoff.Uniform(1, 2), Order: backoff.JitterThenCap}
	}},
	"seed2": {nil, func(delayTable) backoff.Backoff { return backoff.LastTry{} }},
	"seed3": {nil, func(delayTable) backoff.Backoff {
		return backoff.WithJitter(backoff.LastTry{Time: 10 * time.Second, Max: 300*time.Second + 1}, backoff.Proportional(0.5))
	}},
	"seed4": {nil, func(delayTable) backoff.Backoff {
		return backoff.Exponential{Min: 50 * time.Millisecond, Jitter: backoff.Proportional(0.6), Order: backoff.JitterThenCap}
	}},
}

func backoffTableCommand() *cobra.Command {
	t := delayTable{form: "exponential", retries: 12}
	asJSON := false
	c := &cobra.Command{
		Use: "table", Short: "Show the delays of a form of backoff",
		Long: backoffTableLong, Example: backoffTableExample, Args: noArgs,
	}
	f := c.Flags()
	f.SortFlags = false
	f.StringVar(&t.form, "form", t.form, "which `form`, of those above")
	f.Var(value.Duration(&t.min, 1, backoff.MaxDelay), "min", "first delay; without it 100ms, or what stands above")
	f.Var(value.Duration(&t.max, 1, backoff.MaxDelay), "max", "longest delay; without it 30s, or what stands above")
	f.Var(value.Decimal(&t.factor, 1, backoff.MaxFactor), "factor", "by how much each delay is longer, from 1; without it 2, or what stands above")
	f.TextVar(&t.jitter, "jitter", backoff.Jitter{}, "what is random, a `form` of those above")
	f.BoolVar(&t.capLast, "cap-last", false, "the longest delay bounds what comes out of the jitter, not what goes in")
	f.Var(value.Whole(&t.attempts, 1, 1_000_000), "attempts", "no more after so many attempts, the first one included")
	f.Var(value.Duration(&t.elapsed, 1, backoff.MaxDelay), "elapsed", "no retry that would begin later than so long after the first attempt")
	f.Var(value.Whole(&t.retries, 1, 1000), "retries", "how many retries to show")
	f.BoolVar(&asJSON, "json", false, "write one JSON object per retry and line, in place of the table; times in seconds")
	noDefault(f, "min", "max", "factor", "attempts", "elapsed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		b, err := t.backoff(f)
		if err != nil {
			return usageError{err, c.CommandPath()}
		}
		rows := drawDelays(b, t.retries)
		if !asJSON {
			_, err := fmt.Fprintln(c.OutOrStdout(), rowsText(rows, t.retries))
			return err
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

// backoff is what the flags ask for.
func (t delayTable) backoff(f *pflag.FlagSet) (backoff.Backoff, error) {
	form, known := backoffForms[t.form]
	if !known {
		return nil, fmt.Errorf("--form %s: is not known, want one of %s", t.form, strings.Join(slices.Sorted(maps.Keys(backoffForms)), ", "))
	}
	for _, name := range []string{"min", "max", "factor", "jitter", "cap-last"} {
		if f.Changed(name) && !slices.Contains(form.flags, name) {
			return nil, fmt.Errorf("--%s: does not go with --form %s", name, t.form)
		}
	}
	b := form.make(t)
	if t.attempts > 0 {
		b = backoff.LimitAttempts(b, t.attempts)
	}
	if t.elapsed > 0 {
		b = backoff.LimitElapsed(b, t.elapsed)
	}
	if err := backoff.Check(b); err != nil {
		// Each flag by itself is right, but --min may be longer than --max.
		return nil, fmt.Errorf("--min: %w, the longest delay", err)
	}
	return b, nil
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

func rowsText(rows []delayRow, retries int) string {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	head := table.Row{"retry", "shortest", "median", "longest", "elapsed"}
	t.AppendHeader(head)
	var columns []table.ColumnConfig
	for i := range head {
		columns = append(columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(columns)
	some := false
	for _, r := range rows {
		n := fmt.Sprint(r.retry)
		if r.clients < delayClients {
			n, some = n+"*", true
		}
		t.AppendRow(table.Row{n, rounded(r.shortest), rounded(r.median), rounded(r.longest), rounded(r.elapsed)})
	}
	out := t.Render()
	if some {
		out += "\n* for some of the clients only"
	}
	if len(rows) < retries {
		out += "\nThen no more."
	}
	return out
}
