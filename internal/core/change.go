package core

// Change is the effect of an answer on the window.
type Change uint8

const (
	// Late: no effect. The attempt was not in flight, or no longer.
	Late Change = iota
	// Steady: the answer left cwnd as it was.
	Steady
	// Grew: a success widened the window.
	Grew
	// Shrank: the law narrowed the window without an overload.
	Shrank
	// Cut: the first overload of a burst; the law reacted.
	Cut
	// Ignored: an overload of a burst that counted already: its attempt was in flight at
	// the last cut.
	Ignored
)
