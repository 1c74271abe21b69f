package core

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
