// Package delays is aimd backoff: it helps to choose the delays between retries.
package delays

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
)

//go:embed help
var help embed.FS

// Command is aimd backoff.
func Command() *cobra.Command {
	return cli.Group(cli.Help(help, &cobra.Command{
		Use: "backoff", Short: "Choose the delays between retries",
	}), planCommand())
}

func planCommand() *cobra.Command {
	d := backoff.Demand{First: 100 * time.Millisecond, Factor: 2}
	var outages []time.Duration
	asJSON := false
	c := cli.Help(help, &cobra.Command{
		Use: "plan", Short: "Choose the longest delay by the capacity of the service", Args: cli.NoArgs,
	})
	f := cli.Flags(c)
	f.Var(value.Whole(&d.Clients, 1, 1_000_000_000), "clients", "how many clients there are; needed")
	f.Var(value.Rate(&d.Capacity), "capacity", "how many requests the service can fail without harm, all day long; needed")
	f.Var(value.Duration(&d.Recovery, time.Millisecond, backoff.MaxDelay), "recovery", "how long after the service is back the last client may find out; needed without --max")
	f.Var(value.Duration(&d.First, time.Microsecond, backoff.MaxDelay), "first", "T, the first delay: longer than 99% of the service's answers take")
	f.Var(value.Decimal(&d.Factor, 1.01, 1000), "factor", "F, by how much each delay is longer")
	f.Var(value.Duration(&d.Max, time.Microsecond, backoff.MaxDelay), "max", "M, if there is one: it is judged, and not chosen")
	f.DurationSliceVar(&outages, "outage", nil, "`lengths` of outages, with commas between them; the time to recover from each is shown")
	f.BoolVar(&asJSON, "json", false, "write one JSON object, instead of text; times in seconds")
	cli.NoDefault(f, "clients", "capacity", "recovery", "max")
	c.RunE = func(c *cobra.Command, _ []string) error {
		needed := []string{"clients", "capacity", "recovery"}
		if !f.Changed("recovery") && d.Max > 0 {
			d.Recovery, needed = d.Max, needed[:2]
		}
		for _, name := range needed {
			if !f.Changed(name) {
				return cli.Usage(c, fmt.Errorf("--%s: is missing, want %s", name, f.Lookup(name).Value.(interface{ Want() string }).Want()))
			}
		}
		if slices.ContainsFunc(outages, func(o time.Duration) bool { return o <= 0 }) {
			return cli.Usage(c, errors.New("--outage: want durations longer than 0, like 30s,30m"))
		}
		p, err := backoff.NewPlan(d)
		if err != nil {
			return cli.Usage(c, flagged(err))
		}
		if asJSON {
			err = json.NewEncoder(c.OutOrStdout()).Encode(planJSON(d, p, outages))
		} else {
			_, err = fmt.Fprint(c.OutOrStdout(), planText(d, p, outages))
		}
		if err == nil && !p.Possible {
			err = impossible(d, p)
		}
		return err
	}
	return c
}

// impossible is the error of a plan that cannot be, or of a longest delay that does not do.
func impossible(d backoff.Demand, p backoff.Plan) error {
	if p.Max < p.Least {
		return fmt.Errorf("--max %s is too short: all clients send %s requests per second, and the service can fail %s",
			value.Rounded(p.Max), number(p.Rate), number(d.Capacity))
	}
	return fmt.Errorf("there is no such plan: the last client finds out after %s, wanted is %s", value.Rounded(p.Recovery), value.Rounded(d.Recovery))
}

// planJSON is the plan for a script. Times are in seconds.
func planJSON(d backoff.Demand, p backoff.Plan, outages []time.Duration) any {
	var after []map[string]float64
	for _, o := range outages {
		after = append(after, map[string]float64{"outage_s": o.Seconds(), "recovery_s": p.RecoveryAfter(o).Seconds()})
	}
	plan := map[string]any{
		"clients": d.Clients, "capacity_per_s": d.Capacity, "wanted_recovery_s": d.Recovery.Seconds(),
		"first_s": d.First.Seconds(), "factor": d.Factor,
		"possible": p.Possible, "max_s": p.Max.Seconds(), "least_max_s": p.Least.Seconds(), "rate_per_s": p.Rate, "recovery_s": p.Recovery.Seconds(),
		"retries_to_max": p.Retries, "settled_s": p.Settled.Seconds(),
		"capacity_wanted_per_s": p.CapacityWanted, "clients_possible": p.ClientsPossible,
	}
	if after != nil {
		plan["outages"] = after
	}
	return plan
}

func planText(d backoff.Demand, p backoff.Plan, outages []time.Duration) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line("%d clients, %s failed requests per second, recovery within %s: %s", d.Clients, number(d.Capacity), value.Rounded(d.Recovery),
		map[bool]string{true: "possible.", false: "not possible."}[p.Possible])
	line("")
	chosen := value.Rounded(p.Max)
	if d.Max > 0 {
		chosen += ", as given; the capacity allows " + value.Rounded(p.Least) + " or more"
	}
	line("  M, the longest delay   %s", chosen)
	line("  rate in an outage      %s requests per second", number(p.Rate))
	line("  time to recovery       %s at most, %s on average", value.Rounded(p.Recovery), value.Rounded(p.Recovery/2))
	if p.Retries > 0 {
		line("  until all wait M       %d retries, %s at most; the rate is higher until then", p.Retries, value.Rounded(p.Settled))
	}
	for _, o := range outages {
		line("  after an outage of %s: recovery within %s", value.Rounded(o), value.Rounded(p.RecoveryAfter(o)))
	}
	line("")
	line("delay = min(R * %s * %s^N, %s), R random in [1, 2], N = 0, 1, 2...", value.Rounded(d.First), number(d.Factor), value.Rounded(p.Max))
	switch {
	case !p.Possible && p.Least <= d.Recovery:
		line("Possible is a longest delay from %s to %s.", value.Rounded(p.Least), value.Rounded(d.Recovery))
	case !p.Possible && p.Least == d.First:
		line("No recovery is quicker than the first delay, %s.", value.Rounded(d.First))
	case !p.Possible:
		line("Recovery within %s takes a service that can fail %s requests per second,\nor %d clients at most.",
			value.Rounded(d.Recovery), number(p.CapacityWanted), p.ClientsPossible)
	}
	if p.Max < 2*d.First {
		line("Careful: M is less than 2 * %s, so that R hardly spreads the clients;\nwant a shorter --first.", value.Rounded(d.First))
	}
	return out.String()
}

func number(x float64) string {
	if x >= 1e4 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
