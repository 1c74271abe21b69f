package window

import (
	"time"
)

// flights are the attempts in flight. Each has a place until it ends; then the next attempt may have the
// place. So the memory depends on the most attempts that were ever in flight at a time.
type flights struct {
	// last is the id given last. Ids rise by one and are never given twice.
	last uint64
	// latest is the time of the latest send.
	latest time.Duration
	places []flight
	// free are the places without an attempt.
	free []uint32
	// urgent counts the urgent attempts in flight, held those of SetHeld, open those whose answers stay open, and left the open ones
	// that left the window.
	urgent, held, open, left int
}

// flight is an attempt in flight; id is 0 if the place is free.
type flight struct {
	id    uint64
	sent  time.Duration
	early bool
	// urgent: SetUrgent noted it, held: SetHeld. open: its answer has begun, and stays open. left: it is not in the window any more.
	urgent, held, open, left bool
}

// n is the number of those in the window.
func (f *flights) n() int { return len(f.places) - len(f.free) - f.left }

// sent gives the attempt its id. It is early if it is sent less than near after the attempt before.
func (f *flights) sent(now, near time.Duration) Ticket {
	f.last++
	early := now-f.latest < near
	f.latest = now
	last := len(f.free) - 1
	if last < 0 {
		f.places = append(f.places, flight{id: f.last, sent: now, early: early})
		return Ticket{f.last, uint32(len(f.places) - 1)}
	}
	place := f.free[last]
	f.free = f.free[:last]
	p := &f.places[place]
	*p = flight{id: f.last, sent: now, early: early}
	return Ticket{f.last, place}
}

func (f *flights) has(t Ticket) bool {
	return t.id != 0 && int(t.place) < len(f.places) && f.places[t.place].id == t.id
}

// landed removes the attempt, and returns its place, until the next send; nil if it is not in flight.
func (f *flights) landed(t Ticket) *flight {
	if !f.has(t) {
		return nil
	}
	p := &f.places[t.place]
	p.id = 0
	switch {
	case p.left:
		f.left--
	case p.open:
		f.open--
	}
	if p.urgent {
		f.urgent--
	}
	if p.held {
		f.held--
	}
	f.free = append(f.free, t.place)
	return p
}
