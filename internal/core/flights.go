package core

import "time"

// flights are the attempts in flight. Each has a place until it ends; then the next attempt may have the
// place. So the memory depends on the most attempts that were ever in flight at a time.
type flights struct {
	// last is the id given last. Ids rise by one and are never given twice.
	last   uint64
	places []flight
	// free are the places without an attempt.
	free []uint32
}

// flight is an attempt in flight; id is 0 if the place is free.
type flight struct {
	id   uint64
	sent time.Duration
}

func (f *flights) n() int { return len(f.places) - len(f.free) }

func (f *flights) sent(now time.Duration) Ticket {
	f.last++
	if last := len(f.free) - 1; last >= 0 {
		place := f.free[last]
		f.free = f.free[:last]
		f.places[place] = flight{f.last, now}
		return Ticket{f.last, place}
	}
	f.places = append(f.places, flight{f.last, now})
	return Ticket{f.last, uint32(len(f.places) - 1)}
}

func (f *flights) has(t Ticket) bool {
	return t.id != 0 && int(t.place) < len(f.places) && f.places[t.place].id == t.id
}

// landed removes the attempt and returns when it was sent, or false if it is not in flight.
func (f *flights) landed(t Ticket) (sent time.Duration, ok bool) {
	if !f.has(t) {
		return 0, false
	}
	sent = f.places[t.place].sent
	f.places[t.place].id = 0
	f.free = append(f.free, t.place)
	return sent, true
}
