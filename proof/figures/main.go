// Command figures plays again what the tables of README.md and docs were made of, and prints what differs: the page
// and line, the cell, and the fresh figure. It ends with status 1 if something does. Run it at the root of the
// repository, by make figures. Simulated figures must be the same to their last digit; figures of aimd demo, which
// takes real time, within a third. With -update it writes the simulated figures anew, where a cell has as many as before.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// source is the source of a table's figures.
type source struct {
	page string
	// head is the beginning of the table's first line.
	head string
	// command prints a JSON object a line. It runs in the folder of a program; "" is the folder of
	// the tool. ROWS stands for the heads of the rows of all tables of the page with that command.
	folder, command string
	// noise is by how much a figure may differ, as a share of the figure.
	noise float64
	// of returns which point belongs to the cell in a row and a column, by their heads, and the paths of its figures.
	// Of a sweep these are several points, and the cell is right if one point has its figures.
	of func(row, column string, all []point) (points []point, paths []string)
}

// point is a line of the tool's JSON.
type point map[string]any

func (p point) has(key, value string) bool {
	set, _ := p["set"].(map[string]any)
	return p[key] == value || set[key] == value
}

// value returns the figure under a path like span.median.
func (p point) value(path string) (float64, bool) {
	name, part, spread := strings.Cut(path, ".")
	v := p[name]
	if m, ok := v.(map[string]any); ok && spread {
		v = m[part]
	}
	f, ok := v.(float64)
	return f, ok
}

func find(all []point, keys ...string) (found []point) {
	for _, p := range all {
		fits := true
		for i := 0; i < len(keys); i += 2 {
			fits = fits && p.has(keys[i], keys[i+1])
		}
		if fits {
			found = append(found, p)
		}
	}
	return found
}

var sources = []source{
	{page: "README.md", head: "| strategy | times", command: "demo --only sdk-default,backoff-v5,backoff-1s,backoff,probe --json", noise: 1. / 3, of: demo},
	{page: "docs/laws.md", head: "| you have | backoff", command: "sim run backoff-or-window --runs 15 --json", of: clients},
	{page: "docs/laws.md", head: "| time @ attempts", command: laws, of: scenarios("span.median", "attempts_per_op.median")},
	{page: "docs/laws.md", head: "| sent @ seconds", command: laws, of: scenarios("outage_sent.median", "regain_s.median")},
	{page: "docs/laws.md", head: "| peak @ seconds", command: laws, of: scenarios("peak_in_flight.median", "first_send_p99_s.median")},
	{page: "docs/laws.md", head: "| time @ attempts", command: worst, of: ofProbe("span.max")},
	{page: "docs/laws.md", head: "| sent @ seconds", command: worst, of: ofProbe("outage_sent.max", "regain_s.max")},
	{page: "docs/laws.md", head: "| peak @ seconds", command: worst, of: ofProbe("peak_in_flight.max", "first_send_p99_s.max")},
	{page: "proof/rivals/matrix.md", head: "| service: time @ attempts", folder: "proof/rivals", command: "matrix --json", of: scenarios("time", "attempts")},
	{page: "docs/laws.md", head: "| load: goodput", folder: "proof/rivals", command: "sweep --json", of: sweeps},
	{page: "docs/laws.md", head: "| below the best | probe", folder: "proof/rivals", command: "sweep --json", of: scenarios("goodput")},
	{page: "docs/fleet.md", head: "| processes |", command: "sim run fleet --json", of: fleets("probe")},
	{page: "docs/fleet.md", head: "| with a store |", command: "sim run fleet --json", of: fleets("fleet")},
	{page: "docs/fleet.md", head: "| clients × slots |", command: "sim run law-fleet-jobs law-fleet-long --json", of: company},
	{page: "docs/quota.md", head: "| quota | unread |", command: "sim run told --json", of: quotas},
}

const (
	laws  = "sim run ROWS --json"
	worst = "sim run ROWS --strategies probe --runs 31 --seed 5200 --json"
)

// demo leaves out the refusals, which chance decides, and the SDK's own modes, whose runs differ.
func demo(row, column string, all []point) ([]point, []string) {
	for name, text := range map[string]string{"backoff": "20 s", "backoff-1s": "1 s,", "backoff-v5": "v5", "probe": "aimd.New"} {
		path := map[string]string{"time": "makespan_s", "times the optimum": "times", "attempts per object": "each", "lost": "lost"}[column]
		if strings.Contains(row, text) && path != "" {
			found := find(all, "strategy", name)
			for _, p := range found {
				p["times"] = p["makespan_s"].(float64) / p["optimum_s"].(float64)
				p["each"] = p["attempts"].(float64) / p["operations"].(float64)
			}
			return found, []string{path}
		}
	}
	return nil, nil
}

var place = regexp.MustCompile(`^(\d+) clients?, (\d+) slots$`)

func clients(row, column string, all []point) ([]point, []string) {
	names := map[string]string{"backoff with jitter": "backoff", "Reno 0.5": "reno-0.5", "Reno 0.9": "reno-0.9", "aimd.New": "probe"}
	m := place.FindStringSubmatch(row)
	if m == nil || names[column] == "" {
		return nil, nil
	}
	paths := []string{"span.median", "span.min", "span.max", "attempts_per_op.median"}
	found := find(all, "strategy", names[column], "clients.count", m[1], "server.slots", m[2])
	for _, p := range found {
		least, _ := p.value("span.min")
		if most, _ := p.value("span.max"); most <= apart*least {
			paths = []string{"span.median", "attempts_per_op.median"}
		}
	}
	return found, paths
}

// apart is the longest time over the shortest from which a cell has both.
const apart = 1.25

// scenarios are the tables whose rows are scenarios, and whose columns are strategies.
func scenarios(paths ...string) func(row, column string, all []point) ([]point, []string) {
	return func(row, column string, all []point) ([]point, []string) {
		if found := find(all, "scenario", row, "strategy", column); len(found) > 0 {
			return found, paths
		}
		return nil, nil
	}
}

// ofProbe is the column of the worst runs of probe.
func ofProbe(paths ...string) func(row, column string, all []point) ([]point, []string) {
	return func(row, column string, all []point) ([]point, []string) {
		if column != "worst" {
			return nil, nil
		}
		return scenarios(paths...)(row, "probe", all)
	}
}

// sweeps are the means of the sweep over its services: a load in a row, a strategy in a column.
func sweeps(row, column string, all []point) ([]point, []string) {
	if row == "below the best" {
		return find(all, "scenario", row, "strategy", column), []string{"below", "of"}
	}
	return find(all, "scenario", "mean at "+row, "strategy", column), []string{"goodput", "p99_s", "attempts"}
}

func fleets(strategy string) func(row, column string, all []point) ([]point, []string) {
	names := map[string]string{"100 slots, 0.5 s each": "fleet-slots", "a quota of 100 a second": "fleet-rate", "the same quota, refused requests count too": "fleet-rate-refused-count"}
	return func(row, column string, all []point) ([]point, []string) {
		if _, err := strconv.Atoi(row); err != nil {
			return nil, nil
		}
		return find(all, "scenario", names[column], "strategy", strategy, "clients.count", row), []string{"watch_use.median", "watch_attempts_per_op.median", "watch_jain.median"}
	}
}

// company are jobs of a fleet: clients and slots for each in a row, the length and the strategy in a column.
func company(row, column string, all []point) ([]point, []string) {
	var clients, each int
	long, strategy, _ := strings.Cut(column, ": ")
	names := map[string]string{"Reno 0.5": "reno-0.5", "Reno 0.9": "reno-0.9", "aimd.New": "probe"}
	if _, err := fmt.Sscanf(row, "%d × %d", &clients, &each); err != nil {
		return nil, nil
	}
	keys := []string{"strategy", names[strategy], "clients.count", strconv.Itoa(clients), "server.slots", strconv.Itoa(clients * each)}
	if long == "60 s" {
		return find(all, append(keys, "scenario", "law-fleet-long")...), []string{"span.median", "attempts_per_op.median", "jain.median"}
	}
	keys = append(keys, "scenario", "law-fleet-jobs", "server", "{spread: {kind: exponential}, refusal: {time: 2ms}}")
	return find(all, keys...), []string{"span.median", "attempts_per_op.median"}
}

func quotas(row, column string, all []point) ([]point, []string) {
	strategy, paths := map[string]string{"unread": "deaf", "read": "probe"}[column], []string{"refused_per_hour.median"}
	switch m := regexp.MustCompile(`(\d+) clients`).FindStringSubmatch(row); {
	case m != nil:
		return find(all, "scenario", "told-quota-shared", "strategy", strategy, "clients.count", m[1]), paths
	case row == "60 a minute":
		return find(all, "scenario", "told-quota-shared", "strategy", strategy, "clients.count", "1"), paths
	case strings.Contains(row, "GitHub"):
		return find(all, "scenario", "told-quota-github", "strategy", strategy), paths
	case row == "a bucket of 60 a minute":
		return find(all, "scenario", "told-quota-openai", "strategy", strategy, "server.quotas", "[{limit: 60, per: 1m, bucket: true}]"), paths
	case strings.HasPrefix(row, "buckets of 500"):
		return find(all, "scenario", "told-quota-openai", "strategy", strategy, "server.quotas", "[{limit: 500, per: 1m, bucket: true}, {limit: 60000, per: 1m, bucket: true, cost: 120}]"), paths
	}
	return nil, nil
}

// rows are the heads of the rows of the page's tables with that command, each once.
func rows(text, command string) (all []string) {
	for _, s := range sources {
		inside := false
		for line := range strings.Lines(text) {
			inside = strings.HasPrefix(line, "|") && (inside || strings.HasPrefix(line, s.head))
			if row := cells(line)[0]; inside && s.command == command && strings.HasPrefix(row, "law-") && !slices.Contains(all, row) {
				all = append(all, row)
			}
		}
	}
	return all
}

func (s source) run(text string) (all []point, err error) {
	words := []string{"run", "."}
	for _, w := range strings.Fields(s.command) {
		if w == "ROWS" {
			words = append(words, rows(text, s.command)...)
		} else {
			words = append(words, w)
		}
	}
	fmt.Fprintln(os.Stderr, "figures: go", strings.Join(words, " "))
	c := exec.Command("go", words...)
	c.Dir, c.Stderr = cmp.Or(s.folder, "cmd/aimd"), os.Stderr
	out, err := c.Output()
	// Status 1: an expectation is not met, which its test says.
	if exit := new(exec.ExitError); errors.As(err, &exit) && len(out) > 0 {
		err = nil
	}
	for line := range bytes.Lines(out) {
		p := point{}
		if err := json.Unmarshal(line, &p); err != nil {
			return nil, err
		}
		laws, many := p["laws"].([]any)
		for _, l := range laws { // of the matrix, whose line is a row
			law := l.(map[string]any)
			all = append(all, point{"scenario": p["service"], "strategy": law["law"], "time": law["time"], "attempts": law["attempts"]})
		}
		if !many {
			all = append(all, p)
		}
	}
	return all, err
}

func main() {
	update := flag.Bool("update", false, "write the simulated figures anew")
	flag.Parse()
	played, compared, differ := map[string][]point{}, 0, 0
	for _, s := range sources {
		text, err := os.ReadFile(s.page)
		if _, done := played[s.command]; err == nil && !done {
			played[s.command], err = s.run(string(text))
		}
		check(err)
		n, d, anew := s.compare(string(text), played[s.command], os.Stdout)
		if *update && anew != string(text) {
			check(os.WriteFile(s.page, []byte(anew), 0o644))
		}
		if n == 0 {
			fmt.Printf("%s: no table %q\n", s.page, s.head)
			d = 1
		}
		compared, differ = compared+n, differ+d
	}
	fmt.Printf("%d cells compared, %d differ\n", compared, differ)
	if differ > 0 {
		os.Exit(1)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(2)
	}
}
