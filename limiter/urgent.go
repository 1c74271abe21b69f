package limiter

// Yields reports whether urgent operations let one of the others go first, if one waits. The others have a quarter of the
// attempts in flight, the next one included: counted in turns, long attempts of a batch have more. Of fewer than four in flight
// they have one turn in four.
func (g *Gate) Yields() bool {
	n := g.Flying() + 1
	return share*(n-1-g.FlyingUrgent()) < n && (n >= share || g.inRow >= share-1)
}

// share: one in so many attempts in flight is for those that are not urgent. With 8 a batch beside too many urgent calls takes
// longer, and with 2 the calls wait as long as without a lane.
const share = 4
