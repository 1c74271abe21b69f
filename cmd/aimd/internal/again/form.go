package again

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
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
