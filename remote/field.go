package remote

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/window"
)

// FieldError says what is wrong with a document. All its fields are strings: Name is
// where, as "window.max" or "features_off[3]", "document" for the whole; Value is what
// stands there, cut short if it is long; Want is what is allowed. All packages of this
// module have this error for a wrong setting.
type FieldError = setting.Error

func wrong(path, value, want string) error {
	return &FieldError{Name: path, Value: value, Want: want}
}

// field is one value of a document, for reading and for checking alike.
type field struct {
	path, want string
	// read sets it to what the JSON says, and reports false if that is not allowed.
	read func(d *Document, raw json.RawMessage) bool
	// check returns the value, and reports whether it is allowed. A zero is absent: nil.
	check func(d *Document) (value any, ok bool)
}

// fields are all but features_off. format is first: in another one the rest may mean
// something else.
var fields = []field{
	one("format", fmt.Sprint("the number ", format), integer,
		func(v int) bool { return v == format }, func(d *Document) *int { return &d.Format }),
	one("version", fmt.Sprint("a whole number from 1 to ", uint64(maxVersion)), natural,
		func(v uint64) bool { return v >= 1 && v <= maxVersion }, func(d *Document) *uint64 { return &d.Version }),
	one("window.min", wantWindow, number, isWindow, func(d *Document) *float64 { return &d.Window.Min }),
	one("window.max", wantWindow, number, isWindow, func(d *Document) *float64 { return &d.Window.Max }),
	one("window.factor", wantPart, number, isPart, func(d *Document) *float64 { return &d.Window.Factor }),
	one("retry.max_attempts", "a whole number from 1 to 1000", integer,
		func(v int) bool { return v >= 1 && v <= 1000 }, func(d *Document) *int { return &d.Retry.MaxAttempts }),
	one("retry.max_pause", `a duration from "1ms" to "1h"`, duration,
		between(time.Millisecond, time.Hour), func(d *Document) *time.Duration { return &d.Retry.MaxPause }),
	one("retry.budget_share", wantPart, number, isPart, func(d *Document) *float64 { return &d.Retry.BudgetShare }),
	one("schedule.period", `a duration from "1s" to "168h"`, duration,
		between(time.Second, 168*time.Hour), func(d *Document) *time.Duration { return &d.Schedule.Period }),
}

// one is a field of type T: how its JSON is parsed, what is allowed, where it is.
func one[T comparable](path, want string, parse func(json.RawMessage) (T, bool), allowed func(T) bool, at func(*Document) *T) field {
	return field{
		path: path, want: want,
		read: func(d *Document, raw json.RawMessage) bool {
			v, ok := parse(raw)
			if !ok || !allowed(v) {
				return false
			}
			*at(d) = v
			return true
		},
		check: func(d *Document) (any, bool) {
			var absent T
			v := *at(d)
			if v == absent {
				return nil, true
			}
			return v, allowed(v)
		},
	}
}

const wantPart = "a number greater than 0 and less than 1"

func isPart(v float64) bool { return v > 0 && v < 1 }

var wantWindow = fmt.Sprint("a number from 1 to ", window.MaxWindow)

func isWindow(v float64) bool { return v >= window.MinWindow && v <= window.MaxWindow }

func between(lo, hi time.Duration) func(time.Duration) bool {
	return func(d time.Duration) bool { return d >= lo && d <= hi }
}

// What a value must be made of. raw is valid JSON without space around it.

func number(raw json.RawMessage) (float64, bool) {
	if !isNumber(raw) {
		return 0, false
	}
	// 1e999 is an error here.
	v, err := strconv.ParseFloat(string(raw), 64)
	return v, err == nil
}

func integer(raw json.RawMessage) (int, bool) {
	v, err := strconv.Atoi(string(raw))
	return v, err == nil
}

func natural(raw json.RawMessage) (uint64, bool) {
	v, err := strconv.ParseUint(string(raw), 10, 64)
	return v, err == nil
}

func duration(raw json.RawMessage) (time.Duration, bool) {
	s, ok := text(raw)
	d, err := time.ParseDuration(s)
	return d, ok && err == nil
}

func text(raw json.RawMessage) (string, bool) {
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// isNumber: ParseFloat also takes "Inf" and "0x1p-2", which JSON does not have.
func isNumber(raw json.RawMessage) bool {
	return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
}
