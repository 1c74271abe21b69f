package sim

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
)

// Bounds of a scenario, so that every run ends and fits into memory. Our choice.
const (
	maxOperations = 10_000_000
	maxClients    = 100_000 // some 800 MB if each has a throttle
	maxHorizon    = 30 * 24 * time.Hour
	maxDuration   = 100 * 365 * 24 * time.Hour // of a single time
	maxRate       = 1e7                        // a second
	maxSlots      = 10_000_000                 // or workers, or places
)

// FieldError says which field of a scenario is wrong, and why. An error about several fields
// joins one FieldError for each, in the order of the fields.
type FieldError struct {
	// Path names the field as in a scenario file: "server.outages[1].from".
	Path string
	// Problem is the value and what is allowed: "-1 is not allowed, want a number from 0 to 1".
	Problem string
}

// Error returns "path: problem".
func (e *FieldError) Error() string { return e.Path + ": " + e.Problem }

// checker collects the errors of the fields below one path.
type checker struct {
	path string
	errs *[]error
}

// in is the checker of the fields below a field.
func (c checker) in(field string) checker {
	return checker{strings.Trim(c.path+"."+field, "."), c.errs}
}

// item is the checker of one element of a list.
func (c checker) item(field string, i int) checker {
	return c.in(field + "[" + strconv.Itoa(i) + "]")
}

func (c checker) fail(field, format string, args ...any) {
	*c.errs = append(*c.errs, &FieldError{c.in(field).path, fmt.Sprintf(format, args...)})
}

func (c checker) number(field string, v, lo, hi float64) {
	c.of(field, setting.Number(field, &v, 0, lo, hi))
}

func (c checker) count(field string, v, lo, hi int) {
	c.of(field, setting.Count(field, &v, 0, lo, hi))
}

func (c checker) duration(field string, v, lo, hi time.Duration) {
	c.of(field, setting.Duration(field, &v, 0, lo, hi))
}

// of notes an error of one of our packages about a field.
func (c checker) of(field string, err error) {
	var wrong *setting.Error
	switch {
	case errors.As(err, &wrong):
		c.fail(field, "%s", wrong.Problem())
	case err != nil:
		c.fail(field, "%v", err)
	}
}

// setting notes an error of one of our packages about a setting: fields has the fields of
// those settings that have another name here.
func (c checker) setting(err error, fields map[string]string) {
	var wrong *setting.Error
	if errors.As(err, &wrong) {
		if field, ok := fields[wrong.Name]; ok {
			c.of(field, err)
			return
		}
		c.of(snake(wrong.Name), err)
		return
	}
	c.of("", err)
}

// snake is the name in a file of a Go field: pause_min for PauseMin.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

// oneOf allows some words, and the empty one.
func (c checker) oneOf(field, v string, allowed ...string) {
	if !slices.Contains(allowed, v) && v != "" {
		last := len(allowed) - 1
		c.fail(field, "%q is not allowed, want %s or %s", v, strings.Join(allowed[:last], ", "), allowed[last])
	}
}

// unused refuses settings that have no effect: each is its name and its value.
func (c checker) unused(without string, settings ...any) {
	for i := 0; i < len(settings); i += 2 {
		if v := settings[i+1]; !reflect.ValueOf(v).IsZero() {
			c.fail(settings[i].(string), "%v is not allowed without %s", v, without)
		}
	}
}

func orDefault[T comparable](v *T, fallback T) {
	var zero T
	if *v == zero {
		*v = fallback
	}
}
