package window

// SetHeld notes that an attempt in flight would have waited, if its limiter did more than watch. Call it once for a ticket. The
// Flying of a refusal does not count it.
func (w *Window) SetHeld(t Ticket) {
	if w.flying.has(t) {
		w.flying.places[t.place].held = true
		w.flying.held++
	}
}

// IsHeld reports whether an attempt is in flight, and SetHeld noted it.
func (w *Window) IsHeld(t Ticket) bool {
	return w.flying.held > 0 && w.flying.has(t) && w.flying.places[t.place].held
}
