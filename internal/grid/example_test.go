package grid_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd/internal/grid"
)

// Three clients that start together, on virtual time: each runs once in each cell of five minutes, and no
// two together.
func ExampleNew() {
	start := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for client := range uint64(3) {
		core, err := grid.New(start, grid.Settings{Period: 5 * time.Minute, Rand: rand.New(rand.NewPCG(client, 1))})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print("client ", client, ":")
		for range 4 {
			next, _ := core.Next()
			fmt.Print(next.Format(" 15:04:05"))
			core.Begin(next)
			core.Ended(next.Add(time.Second))
		}
		fmt.Println()
	}
	// Output:
	// client 0: 12:07:21 12:13:35 12:19:02 12:23:32
	// client 1: 12:06:42 12:14:32 12:19:08 12:24:07
	// client 2: 12:05:37 12:12:02 12:16:32 12:20:24
}
