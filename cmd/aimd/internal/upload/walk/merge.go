package walk

import (
	"fmt"
	"iter"
)

// merged yields the entries of several walks in the order of their keys. Of
// files with the same key the first walk's goes, the others come with an error.
func merged(walks []iter.Seq[Entry]) iter.Seq[Entry] {
	if len(walks) == 1 {
		return walks[0]
	}
	return func(yield func(Entry) bool) {
		heads := make([]*head, 0, len(walks))
		for _, w := range walks {
			next, stop := iter.Pull(w)
			defer stop()
			h := &head{next: next}
			if h.advance() {
				heads = append(heads, h)
			}
		}
		var taken Entry // the last that goes
		some := false
		for len(heads) > 0 {
			i := least(heads)
			e := heads[i].entry
			if !heads[i].advance() {
				heads = append(heads[:i], heads[i+1:]...)
			}
			if e.Err == nil {
				if some && e.Key == taken.Key {
					e.Err = sameKey(taken.Path)
				} else {
					taken, some = e, true
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

// head is a walk and its next entry.
type head struct {
	next  func() (Entry, bool)
	entry Entry
}

func (h *head) advance() (ok bool) {
	h.entry, ok = h.next()
	return ok
}

// least is the head with the least key, the first of equals. There are as many
// as arguments: few, so that looking at all of them is good enough.
func least(heads []*head) int {
	best := 0
	for i, h := range heads {
		if h.entry.Key < heads[best].entry.Key {
			best = i
		}
	}
	return best
}
