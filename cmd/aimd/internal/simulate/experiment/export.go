package experiment

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// inJSON are the measures of a line of JSON, in their order: a shape that scripts rely on.
// The last ones, which need watch, regain or clients.background, are left out where they do not apply.
var (
	inJSON     = []string{"makespan_s", "span", "attempts", "attempts_per_op", "p50_s", "p99_s", "first_send_p99_s", "peak_in_flight", "jain", "recovery_s", "outage_sent"}
	whenNeeded = []string{"watch_use", "watch_attempts_per_op", "watch_errors", "watch_jain", "regain_s", "interactive_done", "background_done", "refused_per_hour", "quota_share"}
)

// JSON writes one object per row and line. A number that is only known from below is that bound; a measure
// that does not apply is null. Rows of a sweep have "set" with their point.
func (s Study) JSON(w io.Writer) error {
	for _, r := range s.Rows {
		line, err := r.json(s.Name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "{%s}\n", line); err != nil {
			return err
		}
	}
	return nil
}

// json is what stands between the braces.
func (r Row) json(scenario string) (line string, failed error) {
	field := func(name string, value any) {
		text, err := json.Marshal(value)
		failed = errors.Join(failed, err)
		line += fmt.Sprintf(",%q:%s", name, text)
	}
	field("scenario", scenario)
	field("strategy", r.Strategy.Name)
	if len(r.At) > 0 {
		set := map[string]string{}
		for _, at := range r.At {
			name, v, _ := strings.Cut(at, "=")
			set[name] = v
		}
		field("set", set)
	}
	field("runs", r.Runs)
	for i, measure := range slices.Concat(inJSON, whenNeeded) {
		if x := r.Of(measure); x.Applies {
			field(measure, x)
		} else if i < len(inJSON) {
			field(measure, nil)
		}
	}
	return line[1:], failed
}

// CSV writes all measures of all rows. A number that is only known from below has a ">" in front, and a measure
// that does not apply is empty.
func (s Study) CSV(w io.Writer) error {
	head := []string{"scenario"}
	for _, x := range s.Sweep {
		head = append(head, x.Field)
	}
	records := [][]string{append(head, "strategy", "runs")}
	for i, r := range s.Rows {
		record := []string{s.Name}
		for _, at := range r.At {
			_, v, _ := strings.Cut(at, "=")
			record = append(record, v)
		}
		record = append(record, r.Strategy.Name, strconv.Itoa(r.Runs))
		for _, x := range r.Ranges {
			if i == 0 {
				records[0] = append(records[0], x.Measure+" min", x.Measure+" median", x.Measure+" max")
			}
			record = append(record, x.cells()...)
		}
		records = append(records, record)
	}
	return csv.NewWriter(w).WriteAll(records)
}

func (x Range) cells() []string {
	if !x.Applies {
		return []string{"", "", ""}
	}
	var cells []string
	for _, n := range []Number{x.Min, x.Median, x.Max} {
		s := strconv.FormatFloat(n.Value, 'g', -1, 64)
		if n.AtLeast {
			s = ">" + s
		}
		cells = append(cells, s)
	}
	return cells
}

// TracesCSV writes the courses of the typical run over time.
func (r Row) TracesCSV(w io.Writer) error {
	t := r.Typical.Traces
	records := [][]string{{"time_s"}}
	for _, x := range t.Series {
		records[0] = append(records[0], x.Name)
		for i, v := range x.Values {
			if i+1 == len(records) {
				records = append(records, []string{strconv.FormatFloat(float64(i+1)*t.Interval.Seconds(), 'g', 12, 64)})
			}
			records[i+1] = append(records[i+1], strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	return csv.NewWriter(w).WriteAll(records)
}
