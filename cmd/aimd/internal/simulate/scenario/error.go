package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

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
func (e Errors) Error() string {
	all := make([]string, len(e))
	for i, x := range e {
		all[i] = x.Error()
	}
	return strings.Join(all, "\n")
}

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
