package core

// Change is what an answer changed.
type Change uint8

const (
	// Late: nothing. The attempt was not in flight (any more).
	Late Change = iota
	// Steady: the answer left cwnd as it was.
	Steady
	// Grew: a success widened the window.
	Grew
	// Shrank: the law narrowed the window though nothing was overloaded.
	Shrank
	// Cut: the first overload of a burst; the law reacted.
	Cut
	// Ignored: an overload of a burst that counted already: its attempt was in
	// flight at the last cut.
	Ignored
)
