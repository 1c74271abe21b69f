package walk

import (
	"fmt"
	"iter"
	"strings"
)

// merge yields what the sequences have, each of them in order, in order; of equals,
// that of the earlier sequence first. It holds one item of each.
func merge[T any](compare func(a, b T) int, all ...iter.Seq[T]) iter.Seq[T] {
	switch len(all) {
	case 0:
		return func(func(T) bool) {}
	case 1:
		return all[0]
	}
	half := len(all) / 2
	left, right := merge(compare, all[:half]...), merge(compare, all[half:]...)
	return func(yield func(T) bool) {
		next, stop := iter.Pull(right)
		defer stop()
		r, some := next()
		for l := range left {
			for ; some && compare(r, l) < 0; r, some = next() {
				if !yield(r) {
					return
				}
			}
			if !yield(l) {
				return
			}
		}
		for ; some && yield(r); r, some = next() {
		}
	}
}

// merged yields the entries of several walks in the order of their keys. Of
// files with the same key the first walk's goes, the others come with an error.
func merged(walks []iter.Seq[Entry]) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		var taken *Entry // the last that goes
		for e := range merge(func(a, b Entry) int { return strings.Compare(a.Key, b.Key) }, walks...) {
			if e.Err == nil {
				if taken != nil && e.Key == taken.Key {
					e.Err = sameKey(taken.Path)
				} else {
					taken = &e
				}
			}
			if !yield(e) {
				return
			}
		}
	}
}

func sameKey(path string) error {
	return fmt.Errorf("%s has the same key and goes in its place", path)
}
