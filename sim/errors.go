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

// FieldError says which field of a scenario is wrong, and why. Where several are, an
// error holds all of them in the order of the fields, as errors.Join has it.
type FieldError struct {
	// Path names the field as in a scenario file: "server.outages[1].from".
	Path string
	// Problem is the value and what is allowed: "-1 is not allowed, want a
	// number from 0 to 1".
	Problem string
}

// Error returns "path: problem".
func (e *FieldError) Error() string { return e.Path + ": " + e.Problem }

// checker collects what is wrong below one path.
type checker struct {
	path string
	errs *[]error
}

// in is the checker of a field that has fields itself.
func (c checker) in(field string) checker { return checker{c.join(field), c.errs} }

// item is the checker of one element of a list.
func (c checker) item(field string, i int) checker {
	return c.in(field + "[" + strconv.Itoa(i) + "]")
}

func (c checker) join(field string) string {
	if c.path == "" || field == "" {
		return c.path + field
	}
	return c.path + "." + field
}

func (c checker) fail(field, format string, args ...any) {
	*c.errs = append(*c.errs, &FieldError{c.join(field), fmt.Sprintf(format, args...)})
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

// of notes what is wrong with one field.
func (c checker) of(field string, err error) { c.setting(err, map[string]string{field: field}) }

// oneOf allows some words, and nothing at all.
func (c checker) oneOf(field, v string, allowed ...string) {
	if !slices.Contains(allowed, v) && v != "" {
		last := len(allowed) - 1
		c.fail(field, "%q is not allowed, want %s or %s", v, strings.Join(allowed[:last], ", "), allowed[last])
	}
}

// unused refuses settings that nothing would look at: those that are set, each as
// its name and its value.
func (c checker) unused(without string, settings ...any) {
	for i := 0; i < len(settings); i += 2 {
		if v := settings[i+1]; !reflect.ValueOf(v).IsZero() {
			c.fail(settings[i].(string), "%v is not allowed without %s", v, without)
		}
	}
}

// setting puts an error of a package of ours about a setting down to the field
// that the setting has here.
func (c checker) setting(err error, fields map[string]string) {
	if err == nil {
		return
	}
	var wrong *setting.Error
	if errors.As(err, &wrong) && fields[wrong.Name] != "" {
		c.fail(fields[wrong.Name], "%s", wrong.Problem())
	} else {
		c.fail("", "%v", err)
	}
}
