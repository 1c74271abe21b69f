package limiter

// Kept is the number of amounts and heads of attempts that the gate keeps.
func (g *Gate) Kept() int { return len(g.told.heads) + len(g.told.amounts) }
