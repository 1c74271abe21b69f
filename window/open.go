package window

// Opened notes that the answer of an attempt in flight has begun, and stays open.
func (w *Window) Opened(t Ticket) {
	if f := &w.flying; f.has(t) && !f.places[t.place].open {
		f.places[t.place].open = true
		f.open++
	}
}

// Starved reports whether the window is full of answers that have begun and stay open, and has room for one attempt more within
// Settings.Max and the Bound, those that left it included.
func (w *Window) Starved() bool {
	f := &w.flying
	if f.open == 0 || f.open < f.n() || w.Open() {
		return false
	}
	n := f.n() + f.left
	return float64(n) < w.settings.Max && (w.Bound == 0 || n < w.Bound)
}

// Leave takes the oldest open answer but that of t out of the window. Withdrawn ends it.
func (w *Window) Leave(t Ticket) {
	f, oldest := &w.flying, (*flight)(nil)
	for i := range f.places {
		if p := &f.places[i]; p.id != 0 && p.open && !p.left && p.id != t.id && (oldest == nil || p.id < oldest.id) {
			oldest = p
		}
	}
	if oldest == nil {
		return
	}
	oldest.left = true
	f.open, f.left = f.open-1, f.left+1
	if oldest.urgent {
		oldest.urgent = false
		f.urgent--
	}
	if oldest.held {
		oldest.held = false
		f.held--
	}
	if oldest.id <= w.ignored {
		w.pending--
	}
}

// Left reports whether an attempt is in flight whose answer has left the window.
func (w *Window) Left(t Ticket) bool {
	return w.flying.left > 0 && w.flying.has(t) && w.flying.places[t.place].left
}

// Outside is the number of open answers that have left the window.
func (w *Window) Outside() int { return w.flying.left }
