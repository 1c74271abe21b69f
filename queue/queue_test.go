package queue_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/queue"
)

func items(n int) []*queue.Item[int] {
	all := make([]*queue.Item[int], n)
	for i := range all {
		all[i] = &queue.Item[int]{Value: i}
	}
	return all
}

// pop takes the item at the front out of the queue, nil if the queue is empty.
func pop[T any](q *queue.Queue[T]) *queue.Item[T] {
	i, _ := q.Ends()
	if i != nil {
		q.Remove(i)
	}
	return i
}

func popAll(q *queue.Queue[int]) []int {
	var got []int
	for i := pop(q); i != nil; i = pop(q) {
		got = append(got, i.Value)
	}
	return got
}

func TestBothEnds(t *testing.T) {
	var q queue.Queue[int]
	first, last := q.Ends()
	require.Nil(t, first)
	require.Nil(t, last)
	for _, i := range items(3) {
		q.Push(i)
	}
	first, last = q.Ends()
	require.Equal(t, 0, first.Value)
	require.Equal(t, 2, last.Value)
	for i := range q.All() {
		require.True(t, q.Remove(i), "an item may be taken out when it is yielded")
	}
	require.Zero(t, q.Len())
}

// "A failed operation rejoins the queue at the front", and of several the one that failed first goes
// first.
func TestPutBackGoesToTheFrontInOrder(t *testing.T) {
	var q queue.Queue[int]
	all := items(6)
	q.Push(all[4])
	q.Push(all[5])
	q.PutBack(all[0])
	q.PutBack(all[1])
	require.Equal(t, 0, pop(&q).Value)
	q.PutBack(all[2])
	require.True(t, q.Remove(all[2]))
	q.PutBack(all[3])
	require.Equal(t, []int{1, 3, 4, 5}, popAll(&q))
}

func TestBoundHoldsForNewItemsOnly(t *testing.T) {
	q := queue.Queue[int]{Bound: 2}
	all := items(5)
	require.True(t, q.Push(all[0]))
	require.True(t, q.Push(all[1]))
	require.False(t, q.Push(all[2]))
	require.False(t, q.Remove(all[2]))
	q.PutBack(all[3])
	require.Equal(t, 3, q.Len())
	require.False(t, q.Push(all[4]), "above the bound is full as well")
	require.Equal(t, []int{3, 0, 1}, popAll(&q))
}

func TestAnItemIsInOneQueueAtATime(t *testing.T) {
	var q, other queue.Queue[int]
	i := &queue.Item[int]{}
	q.Push(i)
	require.PanicsWithValue(t, "queue: the item is in a queue already", func() { q.Push(i) })
	require.PanicsWithValue(t, "queue: the item is in a queue already", func() { other.PutBack(i) })
	require.False(t, other.Remove(i))
	require.True(t, q.Remove(i))
	require.False(t, q.Remove(i))
	require.Zero(t, q.Len()+other.Len())
}

// FuzzAgainstSlices drives the queue and two plain slices with the same steps.
func FuzzAgainstSlices(f *testing.F) {
	f.Add([]byte{0, 0, 1, 2, 1, 3, 130, 2, 2, 2})
	f.Fuzz(func(t *testing.T, steps []byte) {
		q := queue.Queue[int]{Bound: 8}
		var returned, pushed, out []*queue.Item[int]
		for n, step := range steps {
			switch step % 4 {
			case 0:
				i := &queue.Item[int]{Value: n}
				room := len(returned)+len(pushed) < q.Bound
				require.Equal(t, room, q.Push(i))
				if room {
					pushed = append(pushed, i)
				}
			case 1:
				if len(out) > 0 {
					q.PutBack(out[0])
					returned, out = append(returned, out[0]), out[1:]
				}
			case 2:
				i := pop(&q)
				all := slices.Concat(returned, pushed)
				if len(all) == 0 {
					require.Nil(t, i)
					continue
				}
				require.Same(t, all[0], i)
				out = append(out, i)
				returned, pushed = without(returned, i), without(pushed, i)
			case 3:
				if all := slices.Concat(returned, pushed); len(all) > 0 {
					i := all[int(step/4)%len(all)]
					require.True(t, q.Remove(i))
					returned, pushed = without(returned, i), without(pushed, i)
				}
			}
			require.Equal(t, len(returned)+len(pushed), q.Len())
		}
		for _, i := range slices.Concat(returned, pushed) {
			require.Same(t, i, pop(&q))
		}
		require.Nil(t, pop(&q))
	})
}

func without(all []*queue.Item[int], i *queue.Item[int]) []*queue.Item[int] {
	return slices.DeleteFunc(all, func(x *queue.Item[int]) bool { return x == i })
}

func Example() {
	q := queue.Queue[string]{Bound: 100}
	a := &queue.Item[string]{Value: "a"}
	q.Push(a)
	q.Push(&queue.Item[string]{Value: "b"})

	first := pop(&q)
	q.PutBack(first) // it failed, and goes before b
	fmt.Println(q.Len())
	q.Remove(a) // its caller gave up
	fmt.Println(pop(&q).Value)
	// Output:
	// 2
	// b
}
