package schedule_test

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/aimd-go/aimd/schedule"
)

// Fetch something every five minutes, and not when all others do.
func ExampleSchedule() {
	mock := clock.NewMock() // leave Clock out in a program
	s, err := schedule.New(schedule.Config{Period: 5 * time.Minute, Clock: mock})
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

func ExampleSchedule_SetPeriod() {
	s, err := schedule.New(schedule.Config{Period: time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.SetPeriod(time.Minute), s.Snapshot().Period)
	fmt.Println(s.SetPeriod(-time.Minute))
	// Output:
	// <nil> 1m0s
	// schedule: Period: -1m0s is not allowed, want a duration from 10ms to 8760h0m0s
}
