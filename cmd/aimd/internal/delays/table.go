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
	retries, asJSON := 12, false
	c := cli.Help(help, &cobra.Command{
		Use: "table", Short: "Show the delays of a form of backoff", Args: cli.NoArgs,
	})
	f := cli.Flags(c)
	form.Flags(c)
	f.Var(value.Whole(&retries, 1, 1000), "retries", "how many retries to show")
	f.BoolVar(&asJSON, "json", false, "write one JSON object per retry and line, instead of the table; times in seconds")
	c.RunE = func(c *cobra.Command, _ []string) error {
		r, err := form.Retry(c)
		if err != nil {
			return err
		}
		rows := drawDelays(r.Delays(), retries)
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
	Retry    int     `json:"retry"`
	Shortest seconds `json:"shortest_s"`
	Median   seconds `json:"median_s"`
	Longest  seconds `json:"longest_s"`
	Elapsed  seconds `json:"elapsed_s"`
}

// seconds is a time that JSON shows in seconds.
type seconds time.Duration

func (s seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

func (s seconds) String() string { return value.Rounded(time.Duration(s)) }

// Draw returns the delays of one operation that never succeeds, at most that many.
func Draw(b backoff.Backoff, r *rand.Rand, most int) (delays []time.Duration) {
	for s := (backoff.State{Retry: 1}); s.Retry <= most; s.Retry++ {
		d, again := b.Delay(s, r)
		if !again {
			break
		}
		delays, s.Last, s.Elapsed = append(delays, d), d, min(s.Elapsed+d, backoff.MaxDelay)
	}
	return delays
}

// delayClients is how many clients draw their delays.
const delayClients = 1000

// drawDelays has many clients draw their delays, always the same.
func drawDelays(b backoff.Backoff, retries int) []delayRow {
	r := rand.New(rand.NewPCG(0, 0))
	delays, elapsed := make([][]seconds, retries), make([][]seconds, retries)
	for range delayClients {
		var total time.Duration
		for i, d := range Draw(b, r, retries) {
			total = min(total+d, backoff.MaxDelay)
			delays[i], elapsed[i] = append(delays[i], seconds(d)), append(elapsed[i], seconds(total))
		}
	}
	var rows []delayRow
	for i, d := range delays {
		if len(d) == 0 {
			break
		}
		slices.Sort(d)
		slices.Sort(elapsed[i])
		rows = append(rows, delayRow{i + 1, d[0], d[len(d)/2], d[len(d)-1], elapsed[i][len(d)/2]})
	}
	return rows
}

func writeRows(w io.Writer, rows []delayRow, retries int) error {
	t := table.Table{Columns: []table.Column{{Head: "retry"}, {Head: "shortest"}, {Head: "median"}, {Head: "longest"}, {Head: "elapsed"}}}
	for _, r := range rows {
		t.Rows = append(t.Rows, []table.Cell{
			{Text: fmt.Sprint(r.Retry)}, {Text: r.Shortest.String()}, {Text: r.Median.String()}, {Text: r.Longest.String()}, {Text: r.Elapsed.String()},
		})
	}
	if err := t.Write(w); err != nil || len(rows) == retries {
		return err
	}
	return table.Paragraphs(w, "Then no more.")
}
