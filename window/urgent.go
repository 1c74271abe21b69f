package window

// SetUrgent notes that an attempt in flight is of an urgent operation, for FlyingUrgent and IsUrgent. Call it once for a ticket.
func (w *Window) SetUrgent(t Ticket) {
	if w.flying.has(t) {
		w.flying.places[t.place].urgent = true
		w.flying.urgent++
	}
}

// FlyingUrgent is the number of urgent attempts in flight.
func (w *Window) FlyingUrgent() int { return w.flying.urgent }

// IsUrgent reports whether an attempt is in flight, and urgent.
func (w *Window) IsUrgent(t Ticket) bool { return w.flying.has(t) && w.flying.places[t.place].urgent }
