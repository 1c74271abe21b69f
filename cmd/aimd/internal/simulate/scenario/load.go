package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Parse reads a scenario from the text of a file. The error is an Errors, each with
// file, line and field; file is only a name. A scenario without a name has that of
// the file.
//
// Settings are applied before the scenario is checked, each as "field=value".
func Parse(file string, text []byte, settings ...string) (Scenario, error) {
	var s Scenario
	n, err := parse(file, text)
	if err != nil {
		return s, Errors{asError(file, err)}
	}
	d := decoder{file: file, lines: map[string]int{}}
	if n != nil {
		d.value(n, reflect.ValueOf(&s).Elem(), "")
	}
	for _, field := range []string{"server", "clients"} {
		if _, given := d.lines[field]; !given && len(d.errs) == 0 {
			d.fail(0, field, "is missing; a scenario needs server and clients")
		}
	}
	if s.Name == "" {
		s.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	for _, x := range settings {
		d.setting(&s, x)
	}
	if len(d.errs) == 0 {
		s.check(&d)
	}
	return s, d.errs.result()
}

func asError(file string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{File: file, Problem: err.Error()}
}

func (d *decoder) setting(s *Scenario, x string) {
	field, v, ok := strings.Cut(x, "=")
	if !ok {
		d.errs = append(d.errs, &Error{File: "--set " + x, Problem: "want field=value, like server.slots=100"})
		return
	}
	one := decoder{file: "--set " + x, lines: map[string]int{}}
	one.assign(s, field, v)
	for _, e := range one.errs {
		e.Line = 0
	}
	d.errs = append(d.errs, one.errs...)
}

// assign puts the value, which is YAML, into the field of that path.
func (d *decoder) assign(s *Scenario, field, v string) {
	to, err := find(reflect.ValueOf(s).Elem(), field)
	if err != nil {
		d.fail(0, field, "%v", err)
		return
	}
	n, err := parse(d.file, []byte(v))
	switch {
	case err != nil:
		d.fail(0, field, "%s", asError(d.file, err).Problem)
	case n == nil:
		d.fail(0, field, "has no value, want %s", a(kindOf(to.Type())))
	default:
		to.SetZero()
		d.value(n, to, field)
	}
}

var step = regexp.MustCompile(`^([^.\[\]]+)(?:\[([0-9]{1,6})\])?$`)

func find(in reflect.Value, path string) (reflect.Value, error) {
	for _, part := range strings.Split(path, ".") {
		m := step.FindStringSubmatch(part)
		if m == nil || in.Kind() != reflect.Struct {
			return in, errors.New("there is no such field; aimd sim schema shows all")
		}
		f, ok := fieldNamed(in, m[1])
		if !ok {
			return in, fmt.Errorf("there is no field %s, want one of %s", m[1], strings.Join(fieldNames(in.Type()), ", "))
		}
		in = f
		if m[2] == "" {
			continue
		}
		if i, _ := strconv.Atoi(m[2]); in.Kind() == reflect.Slice && i < in.Len() {
			in = in.Index(i)
			continue
		}
		return in, fmt.Errorf("%s has no item %s", m[1], m[2])
	}
	return in, nil
}

// Error is one thing that is wrong with a scenario.
type Error struct {
	// File is the name of the file, as it was given.
	File string
	// Line counts from 1; 0: not known.
	Line int
	// Field is the path of the field, "server.slots"; "": the file as a whole.
	Field string
	// Problem names the value and what is allowed.
	Problem string
}

// Error returns "file:line: field: problem".
func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += fmt.Sprintf(":%d", e.Line)
	}
	if e.Field != "" {
		s += ": " + e.Field
	}
	return s + ": " + e.Problem
}

// Errors are all that is wrong with a scenario, by line.
type Errors []*Error

// Error returns one line for each.
func (e Errors) Error() string { return errors.Join(e.Unwrap()...).Error() }

// Unwrap returns the single errors.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, x := range e {
		all[i] = x
	}
	return all
}

func (e Errors) result() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	return e
}
