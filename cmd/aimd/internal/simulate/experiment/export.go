package experiment

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// span is a range in JSON.
type span struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// line is a row in JSON: a shape that scripts rely on.
type line struct {
	Scenario      string            `json:"scenario"`
	Strategy      string            `json:"strategy"`
	Set           map[string]string `json:"set,omitempty"`
	Runs          int               `json:"runs"`
	Makespan      *span             `json:"makespan_s"`
	Span          *span             `json:"span"`
	Attempts      *span             `json:"attempts"`
	AttemptsPerOp *span             `json:"attempts_per_op"`
	P50           *span             `json:"p50_s"`
	P99           *span             `json:"p99_s"`
	FirstSendP99  *span             `json:"first_send_p99_s"`
	PeakInFlight  *span             `json:"peak_in_flight"`
	Jain          *span             `json:"jain"`
	Recovery      *span             `json:"recovery_s"`
	OutageSent    *span             `json:"outage_sent"`
	Use           *span             `json:"watch_use,omitempty"`
	WatchAttempts *span             `json:"watch_attempts_per_op,omitempty"`
	WatchErrors   *span             `json:"watch_errors,omitempty"`
	WatchJain     *span             `json:"watch_jain,omitempty"`
	Regain        *span             `json:"regain_s,omitempty"`
}

// JSON writes one object per row and line. A number that is only known from below
// is that bound; a measure that does not apply is null, or left out if it needs
// watch or regain. Rows of a sweep have "set"
// with their point.
func (s Study) JSON(w io.Writer) error {
	out := json.NewEncoder(w)
	for _, r := range s.Rows {
		of := func(measure string) *span {
			x := r.Of(measure)
			if !x.Applies {
				return nil
			}
			return &span{x.Min.Value, x.Median.Value, x.Max.Value}
		}
		l := line{
			Scenario: s.Name, Strategy: r.Strategy.Name, Runs: r.Runs,
			Makespan: of("makespan_s"), Span: of("span"), Attempts: of("attempts"), AttemptsPerOp: of("attempts_per_op"),
			P50: of("p50_s"), P99: of("p99_s"), FirstSendP99: of("first_send_p99_s"), PeakInFlight: of("peak_in_flight"),
			Jain: of("jain"), Recovery: of("recovery_s"), OutageSent: of("outage_sent"),
			Use: of("watch_use"), WatchAttempts: of("watch_attempts_per_op"), WatchErrors: of("watch_errors"),
			WatchJain: of("watch_jain"), Regain: of("regain_s"),
		}
		for _, at := range r.At {
			if l.Set == nil {
				l.Set = map[string]string{}
			}
			field, v, _ := strings.Cut(at, "=")
			l.Set[field] = v
		}
		if err := out.Encode(l); err != nil {
			return err
		}
	}
	return nil
}

// CSV writes all measures of all rows. A number that is only known from below has
// a ">" in front, and a measure that does not apply is empty.
func (s Study) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"scenario"}
	for _, x := range s.Sweep {
		head = append(head, x.Field)
	}
	head = append(head, "strategy", "runs")
	for i, r := range s.Rows {
		if i == 0 {
			for _, x := range r.Ranges {
				head = append(head, x.Measure+" min", x.Measure+" median", x.Measure+" max")
			}
			_ = out.Write(head) // out.Error tells
		}
		record := []string{s.Name}
		for _, at := range r.At {
			_, v, _ := strings.Cut(at, "=")
			record = append(record, v)
		}
		record = append(record, r.Strategy.Name, strconv.Itoa(r.Runs))
		for _, x := range r.Ranges {
			record = append(record, x.cells()...)
		}
		_ = out.Write(record)
	}
	out.Flush()
	return out.Error()
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
	out := csv.NewWriter(w)
	t := r.Typical.Traces
	head, length := []string{"time_s"}, 0
	for _, x := range t.Series {
		head = append(head, x.Name)
		length = len(x.Values)
	}
	_ = out.Write(head) // out.Error tells
	for i := range length {
		record := []string{strconv.FormatFloat(float64(i+1)*t.Interval.Seconds(), 'g', 12, 64)}
		for _, x := range t.Series {
			record = append(record, strconv.FormatFloat(x.Values[i], 'g', -1, 64))
		}
		_ = out.Write(record)
	}
	out.Flush()
	return out.Error()
}
