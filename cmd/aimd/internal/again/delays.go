package again

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/table"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

// form is a form of backoff on a command line, and the settings that replace the form's own.
type form struct {
	name string
	own  backoff.Exponential
}

// forms are four of ours, and those with the parameters of the texts. Missing parameters are ours:
// [Ethernet] says how to choose T and M, so the 100 ms and 30 s are our defaults;
// [Syncmusings] says "add some jitter", and 0.6 with a cap comes nearest to its figures.
var forms = map[string]backoff.Exponential{
	"exponential": {Jitter: backoff.Proportional(0.5)},
	"compound":    {Jitter: backoff.Proportional(0.5), Compound: true},
	"constant":    {Jitter: backoff.Proportional(0.5), Factor: 1},
	"last-try":    {Jitter: backoff.Proportional(0.5), Min: time.Second, Max: 10 * time.Second, Factor: 2, LastTry: true},

	"crash-blue":   {Min: 100 * time.Millisecond, Max: 10 * time.Minute, Factor: 2.7, Jitter: backoff.Normal(0.1), Compound: true},
	"crash-green":  {Min: time.Second, Max: 5 * time.Minute, Factor: 1.5, Jitter: backoff.Normal(0.1), Compound: true},
	"ethernet":     {Factor: 2, Jitter: backoff.Uniform(1, 2), CapLast: true},
	"clojure":      {Min: time.Second, Max: 10 * time.Second, Factor: 2, LastTry: true},
	"safe-clients": {Min: 10 * time.Second, Max: 300*time.Second + 1, Factor: 2, Jitter: backoff.Proportional(0.5), LastTry: true},
	"syncmusings":  {Min: 50 * time.Millisecond, Max: 30 * time.Second, Factor: 2, Jitter: backoff.Proportional(0.6), CapLast: true},
}

// flags adds the flags that choose the form.
func (m *form) flags(c *cobra.Command) {
	f, e, names := c.Flags(), &m.own, slices.Sorted(maps.Keys(forms))
	f.Var(value.Text(&m.name, "form", "one of "+strings.Join(names, ", "), func(s string) bool { return slices.Contains(names, s) }), "form", "which form, see above")
	f.Var(value.Duration(&e.Min, 1, backoff.MaxDelay), "min", "first delay; without it 100ms, or the form's own")
	f.Var(value.Duration(&e.Max, 1, backoff.MaxDelay), "max", "longest delay; without it 30s, or the form's own")
	f.Var(value.Decimal(&e.Factor, 1, 1000), "factor", "growth from a delay to the next, from 1; without it 2, or the form's own")
	f.TextVar(&e.Jitter, "jitter", e.Jitter, "the random part of a delay, a `form` of jitter; without it proportional:0.5, or the form's own")
	f.BoolVar(&e.CapLast, "cap-last", false, "the longest delay bounds the delay after jitter, not before")
	cli.NoDefault(f, "min", "max", "factor", "jitter")
	cli.Complete(c, "form", names)
	cli.Complete(c, "jitter", []string{"none", "full", "equal", "proportional:", "uniform:", "normal:"})
}

// delays returns the backoff that the flags ask for.
func (m *form) delays(f *pflag.FlagSet) (backoff.Exponential, error) {
	e := forms[m.name]
	e.Min, e.Max, e.Factor = cmp.Or(m.own.Min, e.Min), cmp.Or(m.own.Max, e.Max), cmp.Or(m.own.Factor, e.Factor)
	e.CapLast = m.own.CapLast || e.CapLast
	if f.Changed("jitter") {
		e.Jitter = m.own.Jitter
	}
	if err := backoff.Check(e); err != nil {
		return e, fmt.Errorf("--form %s, as changed: %w", m.name, err)
	}
	return e, nil
}

const (
	// planClients is the number of clients of a plan, each with its own jitter.
	planClients = 1000
	// triesMost is the number of tries at which a plan stops to count.
	triesMost = 10_000
)

// printPlan writes which delays, with how many tries, outlast an outage. A choice that the flags
// and the form leave open has several rows.
func (j *job) printPlan(c *cobra.Command) error {
	given, err := j.form.delays(c.Flags())
	if err != nil {
		return cli.Usage(c, err)
	}
	t := table.New(0, "first", "factor", "longest", "tries", "late, typical", "at most", "1000 clients send")
	for _, e := range open(given, j.plan) {
		t.Rows = append(t.Rows, j.row(c, e))
	}
	return cmp.Or(
		table.Paragraphs(c.OutOrStdout(), fmt.Sprintf("An outage of %s, with --form %s and --jitter %s: each try within it fails at once, and the first try after it succeeds.",
			value.ShowDuration(j.plan), j.form.name, given.Jitter)),
		t.Write(c.OutOrStdout()),
		table.Paragraphs(c.OutOrStdout(), fmt.Sprintf(`"tries" is what the unluckiest of %d clients needs: --max-attempts, or more. "late" is the time from the outage's end to that try. The last column is how many tries a second they send at the end of the outage.`, planClients)))
}

// open returns the delays with a choice for what is open: the factor, 1 being a fixed delay, and the longest delay, up
// to the outage and without a bound.
func open(e backoff.Exponential, outage time.Duration) (all []backoff.Exponential) {
	if e.Factor == 1 && e.Min > 0 {
		e.Max = e.Min
	}
	factors, longest := []float64{e.Factor}, []time.Duration{e.Max}
	if e.Factor == 0 {
		factors = []float64{1, 1.5, 2, 4}
	}
	if e.Max == 0 {
		longest = []time.Duration{time.Second, 10 * time.Second, time.Minute, 10 * time.Minute}
		longest = append(slices.DeleteFunc(longest, func(d time.Duration) bool { return d < e.Min || d >= outage }), backoff.MaxDelay)
	}
	for _, factor := range factors {
		for _, most := range longest {
			row := e
			row.Factor, row.Max = factor, most
			if row.Min = cmp.Or(e.Min, min(100*time.Millisecond, most)); factor == 1 {
				row.Min = most
			}
			if row.Min < backoff.MaxDelay {
				all = append(all, row)
			}
		}
	}
	return all
}

// row is the outage with these delays.
func (j *job) row(c *cobra.Command, e backoff.Exponential) []table.Cell {
	most := triesMost
	if c.Flags().Changed("max-attempts") && j.attempts > 0 {
		most = min(most, j.attempts)
	}
	var late []time.Duration
	tries, rate := 0, 0.0
	for client := range uint64(planClients) {
		random, s := rand.New(rand.NewPCG(client, 0)), backoff.State{}
		at := time.Duration(0)
		for at < j.plan {
			s.Retry++
			d, again := e.Delay(s, random)
			if !again || s.Retry >= most || j.total > 0 && at+d > j.total {
				break
			}
			s.Last = d
			at += d
		}
		if at < j.plan {
			gaveUp := fmt.Sprintf("gives up after %s", value.Rounded(at))
			if s.Retry == triesMost {
				gaveUp = "more than " + strconv.Itoa(triesMost) + " tries"
			}
			return append(settings(e), table.Cell{Text: strconv.Itoa(s.Retry)}, table.Cell{Text: gaveUp, Bad: true}, table.Cell{}, table.Cell{})
		}
		// Long delays are more likely to be the last; the mean of 1/delay makes up for it.
		tries, rate = max(tries, s.Retry+1), rate+1/s.Last.Seconds()
		late = append(late, at-j.plan)
	}
	slices.Sort(late)
	return append(settings(e), table.Cell{Text: strconv.Itoa(tries)}, table.Cell{Text: value.Rounded(late[len(late)/2])},
		table.Cell{Text: value.Rounded(late[len(late)-1])}, table.Cell{Text: fmt.Sprintf("%.4g/s", rate)})
}

func settings(e backoff.Exponential) []table.Cell {
	longest := value.ShowDuration(e.Max)
	if e.Max == backoff.MaxDelay {
		longest = "none"
	}
	return []table.Cell{{Text: value.ShowDuration(e.Min)}, {Text: fmt.Sprint(e.Factor)}, {Text: longest}}
}
