package delays

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/sim"
)

// Draw returns the delays of one operation that never succeeds, at most that many.
func Draw(b backoff.Backoff, r *rand.Rand, most int) (delays []time.Duration) {
	for s := (backoff.State{Retry: 1}); s.Retry <= most; s.Retry++ {
		d, again := b.Delay(s, r)
		if !again {
			break
		}
		delays, s.Last = append(delays, d), d
	}
	return delays
}

// Form is a form of backoff on a command line, and the settings that replace the form's own.
type Form struct {
	name string
	own  sim.Retry
}

// NewForm is the exponential form with that jitter, until flags choose another.
func NewForm(jitter backoff.Jitter) *Form {
	return &Form{"exponential", sim.Retry{Jitter: jitter}}
}

// Flags adds the flags that choose the form.
func (m *Form) Flags(c *cobra.Command) {
	f, r := c.Flags(), &m.own
	f.StringVar(&m.name, "form", m.name, "which `form`, see above")
	f.Var(value.Duration(&r.Min, 1, backoff.MaxDelay), "min", "first delay; without it 100ms, or the form's own")
	f.Var(value.Duration(&r.Max, 1, backoff.MaxDelay), "max", "longest delay; without it 30s, or the form's own")
	f.Var(value.Decimal(&r.Factor, 1, 1000), "factor", "by how much each delay is longer, from 1; without it 2, or the form's own")
	f.TextVar(&r.Jitter, "jitter", r.Jitter, "the random part of a delay, a `form` of jitter")
	f.BoolVar(&r.CapLast, "cap-last", false, "the longest delay bounds the delay after jitter, not before")
	cli.NoDefault(f, "min", "max", "factor")
	cli.Complete(c, "form", forms())
	cli.Complete(c, "jitter", []string{"none", "full", "equal", "proportional:", "uniform:", "normal:"})
}

// Retry returns the settings that the flags ask for, or an error of the command line.
func (m *Form) Retry(c *cobra.Command) (sim.Retry, error) {
	r, complete := published[m.name]
	if !complete {
		if r.Kind = m.name; settings[m.name] == nil {
			return r, cli.Usage(c, fmt.Errorf("--form %s: is not known, want one of %s", m.name, strings.Join(forms(), ", ")))
		}
		if r.Kind == "constant" {
			r.Min = 100 * time.Millisecond
		}
		if slices.Contains(settings[r.Kind], "jitter") {
			r.Jitter = m.own.Jitter // the default of the command
		}
	}
	if err := Change(c.Flags(), &r, m.own, "", "--form "+m.name); err != nil {
		return r, cli.Usage(c, err)
	}
	if err := backoff.Check(r.Delays()); err != nil {
		// Each flag is right, but --min may be longer than --max.
		return r, cli.Usage(c, fmt.Errorf("%w, the longest delay", flagged(err)))
	}
	return r, nil
}

// flagged is an error of package backoff about the flag that set the field.
func flagged(err error) error {
	var wrong *aimd.SettingError
	if !errors.As(err, &wrong) {
		return err
	}
	return fmt.Errorf("--%s: %s", strings.ToLower(wrong.Name), wrong.Problem())
}

// Change replaces the settings of r that were given by flags, whose min and max end in the
// suffix, by the settings of own. Change returns an error if a flag makes no difference to that
// kind of retry; chosen is how it was chosen.
func Change(f *pflag.FlagSet, r *sim.Retry, own sim.Retry, suffix, chosen string) error {
	for _, s := range []struct {
		name, flag string
		set        func()
	}{
		{"cap-last", "cap-last", func() { r.CapLast = own.CapLast }},
		{"factor", "factor", func() { r.Factor = own.Factor }},
		{"jitter", "jitter", func() { r.Jitter = own.Jitter }},
		{"max", "max" + suffix, func() { r.Max = own.Max }},
		{"min", "min" + suffix, func() { r.Min = own.Min }},
	} {
		switch {
		case !f.Changed(s.flag):
		case slices.Contains(settings[r.Kind], s.name):
			s.set()
		default:
			return fmt.Errorf("--%s: makes no difference to %s, want it without", s.flag, chosen)
		}
	}
	return nil
}

// settings are, for each kind of retry, those that make a difference to it.
var settings = map[string][]string{
	"constant":    {"min", "jitter"},
	"exponential": {"min", "max", "factor", "jitter", "cap-last"},
	"compound":    {"min", "max", "factor", "jitter"},
	"last-try":    {"min", "max", "factor", "jitter"},
}

// published are the forms with the parameters of the texts. Missing parameters are ours:
// [Ethernet] says how to choose T and M, so the 100 ms and 30 s are our defaults;
// [Syncmusings] says "add some jitter", and 0.6 with a cap comes nearest to its figures.
var published = map[string]sim.Retry{
	"crash-blue":   {Kind: "compound", Min: 100 * time.Millisecond, Max: 10 * time.Minute, Factor: 2.7, Jitter: backoff.Normal(0.1)},
	"crash-green":  {Kind: "compound", Min: time.Second, Max: 5 * time.Minute, Factor: 1.5, Jitter: backoff.Normal(0.1)},
	"ethernet":     {Kind: "exponential", Jitter: backoff.Uniform(1, 2), CapLast: true},
	"clojure":      {Kind: "last-try"},
	"safe-clients": {Kind: "last-try", Min: 10 * time.Second, Max: 300*time.Second + 1, Jitter: backoff.Proportional(0.5)},
	"syncmusings":  {Kind: "exponential", Min: 50 * time.Millisecond, Jitter: backoff.Proportional(0.6), CapLast: true},
}

func forms() []string {
	return append(slices.Sorted(maps.Keys(settings)), slices.Sorted(maps.Keys(published))...)
}
