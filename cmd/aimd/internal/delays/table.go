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

func tableCommand() *cobra.Command {
	form := NewForm(backoff.Jitter{})
	attempts, elapsed, retries, asJSON := 0, time.Duration(0), 12, false
	c := cli.Help(help, &cobra.Command{
		Use: "table", Short: "Show the delays of a form of backoff", Args: cli.NoArgs,
	})
	f := cli.Flags(c)
	form.Flags(c)
	f.Var(value.Whole(&attempts, 1, 1_000_000), "max-attempts", "the most attempts, the first one included")
	f.Var(value.Duration(&elapsed, 1, backoff.MaxDelay), "elapsed", "the last retry begins at most this long after the first attempt")
	f.Var(value.Whole(&retries, 1, 1000), "retries", "how many retries to show")
	f.BoolVar(&asJSON, "json", false, "write one JSON object per retry and line, instead of the table; times in seconds")
	cli.NoDefault(f, "max-attempts", "elapsed")
	c.RunE = func(c *cobra.Command, _ []string) error {
		r, err := form.Retry(c)
		if err != nil {
			return err
		}
		r.Attempts = attempts
		delays := r.Delays()
		if elapsed > 0 {
			delays = backoff.LimitElapsed(delays, elapsed)
		}
		rows := drawDelays(delays, retries)
		if !asJSON {
			return writeRows(c.OutOrStdout(), rows, retries)
		}
		for _, r := range rows {
			if err := json.NewEncoder(c.OutOrStdout()).Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// delayRow is a retry as JSON shows it.
type delayRow struct {
	Retry int `json:"retry"`
	// Clients are those that have this retry.
	Clients  int     `json:"clients"`
	Shortest seconds `json:"shortest_s"`
	Median   seconds `json:"median_s"`
	Longest  seconds `json:"longest_s"`
	Elapsed  seconds `json:"elapsed_s"`
}

// seconds is a time that JSON shows in seconds.
type seconds time.Duration

func (s seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

func (s seconds) String() string { return value.Rounded(time.Duration(s)) }

// delayClients is how many clients draw their delays.
const delayClients = 1000

// drawDelays has many clients draw their delays, always the same.
func drawDelays(b backoff.Backoff, retries int) []delayRow {
	r := rand.New(rand.NewPCG(0, 0))
	delays, elapsed := make([][]seconds, retries), make([][]seconds, retries)
	for range delayClients {
		var s backoff.State
		for i := range retries {
			s.Retry++
			d, ok := b.Delay(s, r)
			if !ok {
				break
			}
			s.Last, s.Elapsed = d, min(s.Elapsed+d, backoff.MaxDelay)
			delays[i], elapsed[i] = append(delays[i], seconds(d)), append(elapsed[i], seconds(s.Elapsed))
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
		rows = append(rows, delayRow{i + 1, n, d[0], d[n/2], d[n-1], elapsed[i][n/2]})
	}
	return rows
}

func writeRows(w io.Writer, rows []delayRow, retries int) error {
	t := table.Table{Columns: []table.Column{{Head: "retry"}, {Head: "shortest"}, {Head: "median"}, {Head: "longest"}, {Head: "elapsed"}}}
	some := ""
	for _, r := range rows {
		n := fmt.Sprint(r.Retry)
		if r.Clients < delayClients {
			n, some = n+"*", "* for some of the clients only"
		}
		t.Rows = append(t.Rows, []table.Cell{
			{Text: n}, {Text: r.Shortest.String()}, {Text: r.Median.String()}, {Text: r.Longest.String()}, {Text: r.Elapsed.String()},
		})
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
