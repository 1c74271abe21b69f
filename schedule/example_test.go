package schedule_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/schedule"
)

// Fetch something every five minutes, and not when all others do.
func ExampleSchedule() {
	mock := clock.NewMock() // leave Clock out in a program
	s, err := schedule.New(schedule.Config{Settings: schedule.Settings{Period: 5 * time.Minute}, Clock: mock})
	if err != nil {
		fmt.Println(err)
		return
	}
	fetched := 0
	ended := make(chan error)
	go func() {
		ended <- s.Run(context.Background(), func(ctx context.Context) {
			fetched++
			fmt.Println("fetch number", fetched)
			if fetched == 3 {
				s.Stop()
			}
		})
	}()
	for {
		select {
		case err := <-ended:
			fmt.Println("ended:", err)
			return
		default:
			mock.Add(30 * time.Second)
		}
	}
	// Output:
	// fetch number 1
	// fetch number 2
	// fetch number 3
	// ended: <nil>
}

// At the end of a program: nothing begins any more, and what runs comes to its end.
func ExampleSchedule_Drain() {
	s, err := schedule.New(schedule.Config{Settings: schedule.Settings{Period: time.Hour, StartWithin: time.Millisecond}})
	if err != nil {
		fmt.Println(err)
		return
	}
	begun := make(chan bool)
	go func() {
		_ = s.Run(context.Background(), func(context.Context) {
			begun <- true
			fmt.Println("the job ends")
		})
	}()
	<-begun
	fmt.Println("drained:", s.Drain(context.Background()))
	fmt.Println(s.Run(context.Background(), nil))
	// Output:
	// the job ends
	// drained: <nil>
	// schedule: stopped
}

func ExampleSchedule_SetPeriod() {
	s, err := schedule.New(schedule.Config{Settings: schedule.Settings{Period: time.Hour}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.SetPeriod(time.Minute), s.Snapshot().Period)
	fmt.Println(s.SetPeriod(-time.Minute))
	// Output:
	// <nil> 1m0s
	// schedule: period: -1m0s is not allowed, want a duration from 10ms to 8760h0m0s
}

// Three clients that start together, on virtual time: each runs once in each
// cell of five minutes, and no two together.
func ExampleCore() {
	start := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for client := range uint64(3) {
		core, err := schedule.NewCore(start, schedule.Settings{Period: 5 * time.Minute, Rand: rand.New(rand.NewPCG(client, 1))})
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
