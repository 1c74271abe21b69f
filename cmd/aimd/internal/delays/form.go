package delays

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/sim"
)

// Form is a form of backoff on a command line: its name, and the settings that replace the
// form's own. Make one with NewForm.
type Form struct {
	name string
	own  sim.Retry
}

// NewForm is the exponential form with that jitter, until flags say otherwise.
func NewForm(jitter backoff.Jitter) *Form {
	return &Form{"exponential", sim.Retry{Jitter: jitter}}
}

// Flags are the flags that choose it.
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
	r, known := formNamed(m.name)
	if !known {
		return r, cli.Usage(c, fmt.Errorf("--form %s: is not known, want one of %s%s", m.name, strings.Join(forms(), ", "), cli.DidYouMean(m.name, "", forms())))
	}
	own := map[string]func(){
		"min": func() { r.Min = m.own.Min }, "max": func() { r.Max = m.own.Max }, "factor": func() { r.Factor = m.own.Factor },
		"jitter": func() { r.Jitter = m.own.Jitter }, "cap-last": func() { r.CapLast = m.own.CapLast },
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		switch {
		case !c.Flags().Changed(name):
		case !Takes(r.Kind, name):
			return r, cli.Usage(c, fmt.Errorf("--%s: does not go with --form %s", name, m.name))
		default:
			own[name]()
		}
	}
	if _, complete := published[m.name]; !complete && Takes(r.Kind, "jitter") {
		r.Jitter = m.own.Jitter // the default of the command
	}
	if err := backoff.Check(r.Delays()); err != nil {
		// Each flag by itself is right, but --min may be longer than --max.
		return r, cli.Usage(c, fmt.Errorf("--min: %w, the longest delay", err))
	}
	return r, nil
}

// settings are, for each kind of retry, those that make a difference to it.
var settings = map[string][]string{
	"constant":     {"min", "jitter"},
	"exponential":  {"min", "max", "factor", "jitter", "cap-last"},
	"compound":     {"min", "max", "factor", "jitter"},
	"last-try":     {"min", "max", "factor", "jitter"},
	"fibonacci":    {"min", "max", "jitter"},
	"decorrelated": {"min", "max", "factor"},
}

// Takes reports whether the setting, "min" or "cap-last", makes a difference to that
// kind of retry.
func Takes(kind, setting string) bool { return slices.Contains(settings[kind], setting) }

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

// formNamed finds a form by its name.
func formNamed(name string) (r sim.Retry, known bool) {
	if r, ok := published[name]; ok {
		return r, true
	}
	r = sim.Retry{Kind: name}
	if name == "constant" {
		r.Min = 100 * time.Millisecond
	}
	return r, len(settings[name]) > 0
}

func forms() []string {
	return append(slices.Sorted(maps.Keys(settings)), slices.Sorted(maps.Keys(published))...)
}
