package walk

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
)

// sorter sorts any number of strings in bounded memory: what is more than it may
// hold goes to a temporary file, one sorted run after the other, and the runs are
// merged while they are read.
type sorter struct {
	// most is how many bytes are held in memory, about.
	most int

	held []string
	size int
	file *os.File
	// runs are where in the file each run ends, after a 0.
	runs []int64
}

const (
	// sortMemory is for one directory: some 60 000 names. Our choice; a directory
	// within a huge directory has its own.
	sortMemory = 4 << 20
	// stringOverhead is what a string costs beside its bytes.
	stringOverhead = 32
)

func newSorter() *sorter { return &sorter{most: sortMemory} }

func (s *sorter) add(x string) error {
	s.held = append(s.held, x)
	s.size += len(x) + stringOverhead
	if s.size < s.most {
		return nil
	}
	return s.spill()
}

func (s *sorter) spill() (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp("", "aimd-sort-"); err != nil {
			return err
		}
		s.runs = []int64{0}
	}
	slices.Sort(s.held)
	w := bufio.NewWriter(s.file)
	out := gob.NewEncoder(w)
	for _, x := range s.held {
		_ = out.Encode(x) // Flush tells
	}
	err = w.Flush()
	end, seekErr := s.file.Seek(0, io.SeekCurrent)
	s.runs = append(s.runs, end)
	clear(s.held)
	s.held, s.size = s.held[:0], 0
	return errors.Join(err, seekErr)
}

// all is every string in order. Call it once, after the last add; an error
// comes last.
func (s *sorter) all() iter.Seq2[string, error] {
	slices.Sort(s.held)
	var failed error
	all := []iter.Seq[string]{slices.Values(s.held)}
	for i := 1; i < len(s.runs); i++ {
		all = append(all, s.run(s.runs[i-1], s.runs[i], &failed))
	}
	return func(yield func(string, error) bool) {
		for x := range merge(strings.Compare, all...) {
			if failed != nil {
				break
			}
			if !yield(x, nil) {
				return
			}
		}
		if failed != nil {
			yield("", failed)
		}
	}
}

// run is one of the runs in the file. What fails ends it, and goes to failed.
func (s *sorter) run(from, to int64, failed *error) iter.Seq[string] {
	return func(yield func(string) bool) {
		in := gob.NewDecoder(bufio.NewReader(io.NewSectionReader(s.file, from, to-from)))
		for {
			var x string
			err := in.Decode(&x)
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				*failed = err
				return
			case !yield(x):
				return
			}
		}
	}
}

func (s *sorter) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}

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
