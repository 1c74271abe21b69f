package sim

// chunk is how many values a pool allocates at a time.
const chunk = 1024

// pool holds values that have an id and do not move, and uses them again.
type pool[T any] struct {
	chunks [][]T
	free   []int32
	used   int32
}

// take returns a value that is not in use, as it was left.
func (p *pool[T]) take() (int32, *T) {
	if n := len(p.free); n > 0 {
		id := p.free[n-1]
		p.free = p.free[:n-1]
		return id, p.at(id)
	}
	if int(p.used) == len(p.chunks)*chunk {
		p.chunks = append(p.chunks, make([]T, chunk))
	}
	id := p.used
	p.used++
	return id, p.at(id)
}

// give makes the value free for use again.
func (p *pool[T]) give(id int32) { p.free = append(p.free, id) }

func (p *pool[T]) at(id int32) *T { return &p.chunks[id/chunk][id%chunk] }
