package sim

import "math"

// "Possible server responses: Prioritize interactive requests. Drop background
// requests" ("Safe Client Behaviour"). What a request is for, its client tells the
// server (package tag). Here it is the share Clients.Background of the operations that
// is background work, and what the server does about it is the simplest that there
// is: a part of its slots, Server.Reserve, is for the others alone. Package admission
// does more: several levels, a queue, and a limit that adapts.

// fared is how the operations of one kind did: how many were born, and how many of these
// were done.
type fared struct{ Operations, Done int }

// done is the share that was done.
func (f fared) done(name string) Measure {
	return Measure{name, float64(f.Done) / float64(max(f.Operations, 1)), false, f.Operations > 0}
}

// background reports whether the nth operation is background work: evenly, without
// chance, so that a run differs from one without priorities by nothing else.
func (s Clients) background(n int) bool {
	return math.Floor(float64(n+1)*s.Background) > math.Floor(float64(n)*s.Background)
}

// reserved reports whether what slots are free are not for this attempt.
func (s *server) reserved(a *attempt) bool {
	return a.background && float64(s.running+s.busy) >= float64(s.slots)*(1-s.conf.Reserve)
}

// kind is that of the operation, to be counted in.
func (m *meter) kind(op *operation) *fared {
	if op.background {
		return &m.background
	}
	return &m.interactive
}

// checkReserve checks what is kept for interactive work.
func (s Server) checkReserve(c checker) {
	c.number("reserve", s.Reserve, 0, 1)
	switch {
	case s.Reserve == 0:
	case s.Slots == 0:
		c.fail("reserve", "%v is not allowed without slots, of which it is a share", s.Reserve)
	case s.Queue > 0:
		c.fail("reserve", "%v is not allowed with a queue, which knows no priorities", s.Reserve)
	}
}
