package load

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/delays"
	"github.com/aimd-go/aimd/cmd/aimd/internal/load/client"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/sim"
)

// choice is the strategy's name, and what is to be different from its own figures.
type choice struct {
	name               string
	exponential        bool
	fixed, least, most time.Duration
	factor             float64
	jitter             string
}

func (s *choice) flags(f *pflag.FlagSet) {
	own := client.Exponential().Retry
	*s = choice{name: "fixed", fixed: 100 * time.Millisecond, least: own.Min, most: own.Max, factor: own.Factor, jitter: own.Jitter.String()}
	names := strategyNames()
	f.Var(value.Text(&s.name, "name", "one of "+strings.Join(names, ", ")+", or tahoe or reno with another factor, greater than 0 and less than 1", func(s string) bool {
		_, known := client.Named(s)
		return known
	}), "strategy", "what to do after a failure, see above")
	f.BoolVar(&s.exponential, "exponential-backoff", false, "short for --strategy exponential")
	f.Var(value.Duration(&s.fixed, 0, 24*time.Hour), "simple-backoff-delay", "delay of fixed and fixed-jitter")
	f.Var(value.Duration(&s.least, time.Millisecond, 24*time.Hour), "min-delay", "first delay of those that grow")
	f.Var(value.Duration(&s.most, time.Millisecond, 24*time.Hour), "max-delay", "longest delay of those that grow")
	f.Var(value.Decimal(&s.factor, 1, 1000), "factor", "by how much each delay is longer than the one before")
	f.Var(value.Text(&s.jitter, "form", "none, full, equal, proportional:J, normal:J or uniform:LO:HI, J from 0 to 1, HI at most 100; J alone is normal:J", func(s string) bool {
		_, err := parseJitter(s)
		return err == nil
	}), "jitter", "random part of a delay: proportional:0.2 is within 20% of it either way, normal:0.2 has that as its standard deviation")
	for _, name := range []string{"min-delay", "max-delay", "factor", "jitter"} {
		l := f.Lookup(name)
		l.DefValue = "the strategy's, " + l.DefValue + " of exponential"
	}
}

func strategyNames() []string {
	var names []string
	for _, s := range client.Strategies() {
		names = append(names, s.Name)
	}
	return names
}

func (s *choice) strategy(f *pflag.FlagSet) (sim.Strategy, error) {
	if s.exponential {
		if f.Changed("strategy") && s.name != "exponential" {
			return sim.Strategy{}, fmt.Errorf("--exponential-backoff and --strategy %s: want one of them; the first is short for --strategy exponential", s.name)
		}
		s.name = "exponential"
	}
	chosen, _ := client.Named(s.name)
	r := &chosen.Retry
	if r.Kind == "constant" { // the text's program takes the flag with the other strategy, too
		r.Min = s.fixed
	}
	jitter, err := parseJitter(s.jitter)
	for _, change := range []struct {
		flag string
		make func()
	}{
		{"min-delay", func() { r.Min = s.least }}, {"max-delay", func() { r.Max = s.most }},
		{"factor", func() { r.Factor = s.factor }}, {"jitter", func() { r.Jitter = jitter }},
	} {
		switch {
		case !f.Changed(change.flag):
		case delays.Takes(r.Kind, strings.TrimSuffix(change.flag, "-delay")):
			change.make()
		default:
			err = errors.Join(err, fmt.Errorf("--%s: makes no difference to --strategy %s, want it without", change.flag, s.name))
		}
	}
	if d := r.Delays(); err == nil && d != nil {
		if err = backoff.Check(d); err != nil {
			err = fmt.Errorf("--strategy %s, as changed: %w", s.name, err)
		}
	}
	return chosen, err
}

// parseJitter also takes a number for itself, as the text's program has it: a deviate.
func parseJitter(s string) (backoff.Jitter, error) {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		s = "normal:" + s
	}
	var j backoff.Jitter
	err := j.UnmarshalText([]byte(s))
	return j, err
}
