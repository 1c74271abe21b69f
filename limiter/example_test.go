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
func ExampleGate() {
	g, err := limiter.NewGate(aimd.Reno(0.5), limiter.Settings{Window: window.Settings{Initial: 1}})
	if err != nil {
		panic(err)
	}
	var waiting queue.Queue[string]
	now := time.Duration(0)
	send := func() (sent *queue.Item[string], ticket window.Ticket) {
		for t, ok := g.Next(now, waiting.Len()); ok; t, ok = g.Next(now, waiting.Len()) {
			sent, _ = waiting.Ends()
			waiting.Remove(sent)
			ticket = t
			fmt.Println(now, "send", sent.Value)
		}
		return sent, ticket
	}
	for _, name := range []string{"a", "b", "c"} {
		waiting.Push(&queue.Item[string]{Value: name})
	}
	refused, ticket := send()

	now = 100 * time.Millisecond
	g.Answered(now, ticket, window.Overload, 0)
	waiting.PutBack(refused) // to the front
	_, ticket = send()

	now = 200 * time.Millisecond
	g.Answered(now, ticket, window.Success, 0)
	send()
	fmt.Println(g.State().Cwnd, g.Flying(), waiting.Len())
	// Output:
	// 0s send a
	// 100ms send a
	// 200ms send b
	// 200ms send c
	// 2 2 0
}
