package core

// recent is how many chunks of 64 ids a flights keeps at hand: 4096 ids. Older chunks with an id in
// flight are kept aside.
const recent = 64

// flights is the set of ids in flight. Ids are given in order, so a bit for each id says whether it has
// landed: for the latest ids, and for the few older chunks with an id in flight. So its size depends on
// the ids in flight, not on the ids ever given.
//
// The zero value is the empty set, with no id given.
type flights struct {
	// last is the id given last. Ids rise by one and are never given twice.
	last uint64
	// n is the size of the set. Invariant: n >= 0.
	n int
	// landings has a bit for each of the latest ids, set when it has landed: chunk c, the ids from 64c to
	// 64c+63, is at c%recent.
	landings [recent]uint64
	// old has the landings of older chunks with an id in flight.
	old map[uint64]uint64
}

// sent adds the next id and returns it.
func (f *flights) sent() uint64 {
	f.last++
	f.n++
	if f.last%64 == 0 {
		f.begin(f.last / 64)
	}
	return f.last
}

// begin makes room for a chunk instead of the one that is recent chunks older.
func (f *flights) begin(c uint64) {
	was := &f.landings[c%recent]
	if c >= recent {
		gone := c - recent
		if gone == 0 {
			*was |= 1 // id 0 is never given
		}
		if *was != ^uint64(0) {
			if f.old == nil {
				f.old = map[uint64]uint64{}
			}
			f.old[gone] = *was
		}
	}
	*was = 0
}

// landed takes the id out of the set, and reports false if it is not in it.
func (f *flights) landed(id uint64) bool {
	if id-1 >= f.last { // 0 or not given yet
		return false
	}
	c, bit := id/64, uint64(1)<<(id%64)
	if c+recent <= f.last/64 {
		return f.landedLate(c, bit)
	}
	at := &f.landings[c%recent]
	if *at&bit != 0 {
		return false
	}
	*at |= bit
	f.n--
	return true
}

// landedLate is landed for a chunk that is kept aside.
func (f *flights) landedLate(c, bit uint64) bool {
	landings, ok := f.old[c]
	if !ok || landings&bit != 0 {
		return false
	}
	if landings |= bit; landings == ^uint64(0) {
		delete(f.old, c)
	} else {
		f.old[c] = landings
	}
	f.n--
	return true
}

// has reports whether the id is in flight.
func (f *flights) has(id uint64) bool {
	if id == 0 || id > f.last {
		return false
	}
	c := id / 64
	landings := f.landings[c%recent]
	if c+recent <= f.last/64 {
		old, ok := f.old[c]
		if !ok {
			return false
		}
		landings = old
	}
	return landings&(1<<(id%64)) == 0
}
