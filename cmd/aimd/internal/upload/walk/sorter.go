package walk

import (
	"bufio"
	"container/heap"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
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
	// runs are where in the file each run ends.
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

// add takes one more string.
func (s *sorter) add(x string) error {
	s.held = append(s.held, x)
	s.size += len(x) + stringOverhead
	if s.size < s.most {
		return nil
	}
	return s.spill()
}

// spill writes what is held as one run.
func (s *sorter) spill() error {
	if s.file == nil {
		f, err := os.CreateTemp("", "aimd-sort-")
		if err != nil {
			return err
		}
		s.file = f
		s.runs = append(s.runs, 0)
	}
	slices.Sort(s.held)
	at := s.runs[len(s.runs)-1]
	w := bufio.NewWriter(io.NewOffsetWriter(s.file, at))
	for _, x := range s.held {
		length := binary.AppendUvarint(nil, uint64(len(x)))
		at += int64(len(length) + len(x))
		_, _ = w.Write(length) // Flush tells
		_, _ = w.WriteString(x)
	}
	s.runs = append(s.runs, at)
	clear(s.held)
	s.held, s.size = s.held[:0], 0
	return w.Flush()
}

// all is every string in order. Call it once, after the last add; an error
// comes last.
func (s *sorter) all() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		slices.Sort(s.held)
		if s.file == nil {
			for _, x := range s.held {
				if !yield(x, nil) {
					return
				}
			}
			return
		}
		s.merge(yield)
	}
}

func (s *sorter) merge(yield func(string, error) bool) {
	var h runs
	for _, next := range s.sources() {
		h = append(h, &run{next: next})
	}
	// Each is asked for its first string; those that have none leave.
	for i := len(h) - 1; i >= 0; i-- {
		if ok, err := h[i].advance(); err != nil {
			yield("", err)
			return
		} else if !ok {
			h = slices.Delete(h, i, i+1)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		if !yield(h[0].head, nil) {
			return
		}
		ok, err := h[0].advance()
		switch {
		case err != nil:
			yield("", err)
			return
		case ok:
			heap.Fix(&h, 0)
		default:
			heap.Pop(&h)
		}
	}
}

// sources are the runs in the file, and what is still held.
func (s *sorter) sources() []func() (string, error) {
	var all []func() (string, error)
	for i := 1; i < len(s.runs); i++ {
		r := bufio.NewReader(io.NewSectionReader(s.file, s.runs[i-1], s.runs[i]-s.runs[i-1]))
		all = append(all, func() (string, error) { return readString(r) })
	}
	held := s.held
	return append(all, func() (string, error) {
		if len(held) == 0 {
			return "", io.EOF
		}
		x := held[0]
		held = held[1:]
		return x, nil
	})
}

func readString(r *bufio.Reader) (string, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		return "", err
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return string(b), err
}

// close removes the temporary file.
func (s *sorter) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}

// run is one sorted run and its first string that was not taken yet.
type run struct {
	next func() (string, error)
	head string
}

// advance reports false at the end of the run.
func (r *run) advance() (bool, error) {
	x, err := r.next()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	r.head = x
	return err == nil, err
}

// runs is a heap; the run with the least head comes first.
type runs []*run

func (h runs) Len() int           { return len(h) }
func (h runs) Less(i, j int) bool { return h[i].head < h[j].head }
func (h runs) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runs) Push(x any)        { *h = append(*h, x.(*run)) }
func (h *runs) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
