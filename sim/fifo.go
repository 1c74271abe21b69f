package sim

// fifo is a queue of ids, first in first out.
type fifo struct {
	ids  []int32
	head int
}

func (f *fifo) len() int { return len(f.ids) - f.head }

func (f *fifo) push(id int32) { f.ids = append(f.ids, id) }

func (f *fifo) first() int32 { return f.ids[f.head] }

func (f *fifo) pop() int32 {
	id := f.ids[f.head]
	f.head++
	if f.head > 1024 && 2*f.head > len(f.ids) {
		f.ids = f.ids[:copy(f.ids, f.ids[f.head:])]
		f.head = 0
	}
	return id
}

func (f *fifo) clear() { f.ids, f.head = f.ids[:0], 0 }
