package limiter_test

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/queue"
	"github.com/aimd-go/aimd/window"
)

// A driver without a clock: three operations and a window of one; the first attempt is refused.
func ExampleMachine() {
	m, err := limiter.New[string](aimd.Reno(0.5), limiter.Settings{Window: window.Settings{Initial: 1}})
	if err != nil {
		panic(err)
	}
	now := time.Duration(0)
	send := func() (last *queue.Item[string], ticket window.Ticket) {
		for i, t := m.Next(now); i != nil; i, t = m.Next(now) {
			fmt.Println(now, "send", i.Value)
			last, ticket = i, t
		}
		return last, ticket
	}
	for _, name := range []string{"a", "b", "c"} {
		m.Queue.Push(&queue.Item[string]{Value: name})
	}
	refused, ticket := send()

	now = 100 * time.Millisecond
	m.Answered(now, ticket, window.Overload, 0)
	m.Queue.PutBack(refused) // to the front
	_, ticket = send()

	now = 200 * time.Millisecond
	m.Answered(now, ticket, window.Success, 0)
	send()
	fmt.Println(m.State().Cwnd, m.Flying(), m.Queue.Len())
	// Output:
	// 0s send a
	// 100ms send a
	// 200ms send b
	// 200ms send c
	// 2 2 0
}
