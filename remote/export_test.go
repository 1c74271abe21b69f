package remote

// Forgets is the number of limiters at which an Add looks which of them are no more.
func (ls *Limiters) Forgets() int { return ls.most }
