package verdict

import (
	"reflect"
	"strings"
	"time"
)

// soon is the longest wait that tells a refusal for now from a quota that is spent: the default of MaxRetryAfter.
const soon = 5 * time.Minute

// tree has the errors of an error's tree, each before the errors that it wraps, and their Reach. A tree is an error
// too, so that a classifier does not walk the error again: an error of a service in trouble is read for each
// attempt. One goroutine at a time has it.
type tree struct {
	error
	nodes []node
	room  [4]node // for the nodes of most errors
	text  string
	// worded: text is set.
	worded bool
	told   told
}

type node struct {
	err  error
	kind *kind
}

// largestTree is the number of errors of a tree that are looked at. Our choice: an SDK wraps a few times.
const largestTree = 64

var noTree tree

// walk walks the error, which may be nil or a tree. Nil pointers are left out: their methods may panic.
func walk(err error) *tree {
	if f, walked := err.(*tree); walked {
		return f
	}
	if err == nil {
		return &noTree
	}
	f := &tree{error: err}
	f.nodes = f.room[:0]
	f.add(err)
	return f
}

func (f *tree) add(err error) {
	if err == nil || len(f.nodes) == largestTree {
		return
	}
	k := kindOf(reflect.TypeOf(err))
	if k.pointer && reflect.ValueOf(err).IsNil() {
		return
	}
	f.nodes = append(f.nodes, node{err, k})
	switch u := err.(type) {
	case interface{ Unwrap() error }:
		f.add(u.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			f.add(e)
		}
	}
}

func (f *tree) Unwrap() error { return f.error }

// first is errors.As on a tree that was walked.
func first[T any](f *tree) (T, bool) {
	for _, n := range f.nodes {
		if t, ok := found[T](n); ok {
			return t, true
		}
	}
	var zero T
	return zero, false
}

// found is errors.As on a single node.
func found[T any](n node) (t T, ok bool) {
	if n.kind.silent {
		return t, false
	}
	if t, ok = n.err.(T); ok || !n.kind.as {
		return t, ok
	}
	of := new(T)
	ok = n.err.(interface{ As(any) bool }).As(of)
	return *of, ok
}

// isAny is errors.Is on a tree that was walked, for several targets, which can be compared.
func (f *tree) isAny(targets ...error) bool {
	for _, n := range f.nodes {
		for _, target := range targets {
			if n.err == target || n.kind.is && n.err.(interface{ Is(error) bool }).Is(target) {
				return true
			}
		}
	}
	return false
}

func (f *tree) words() string {
	if f.error != nil && !f.worded {
		f.text, f.worded = textOf(f.error), true
	}
	return f.text
}

// textOf is the text of an error, "" if Error panics: an SDK's may.
func textOf(err error) (text string) {
	defer func() { _ = recover() }()
	return err.Error()
}

func (f *tree) says(any ...string) bool {
	for _, s := range any {
		if strings.Contains(f.words(), s) {
			return true
		}
	}
	return false
}
