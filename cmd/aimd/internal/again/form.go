package again

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/sim"
)

// form is a form of backoff on a command line, and the settings that replace the form's own.
type form struct {
	name string
	own  sim.Retry
}

// newForm is the exponential form, until flags choose another.
func newForm() *form {
	return &form{"exponential", sim.Retry{Jitter: backoff.Proportional(0.5)}}
}

// flags adds the flags that choose the form.
func (m *form) flags(c *cobra.Command) {
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

// retry returns the settings that the flags ask for, or an error of the command line.
func (m *form) retry(c *cobra.Command) (sim.Retry, error) {
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
	for flag, set := range map[string]func(){
		"cap-last": func() { r.CapLast = m.own.CapLast },
		"factor":   func() { r.Factor = m.own.Factor },
		"jitter":   func() { r.Jitter = m.own.Jitter },
		"max":      func() { r.Max = m.own.Max },
		"min":      func() { r.Min = m.own.Min },
	} {
		switch {
		case !c.Flags().Changed(flag):
		case slices.Contains(settings[r.Kind], flag):
			set()
		default:
			return r, cli.Usage(c, fmt.Errorf("--%s: makes no difference to --form %s, want it without", flag, m.name))
		}
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
