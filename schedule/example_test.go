package schedule_test

import (
	"context"
	"fmt"
	"time"

	"github.com/aimd-go/aimd/schedule"
)

// Fetch something every five minutes, and not when all others do.
func ExampleSchedule() {
	s, err := schedule.New(schedule.Config{Period: 5 * time.Minute, StartWithin: time.Nanosecond}) // the first at once
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = s.Run(ctx, func(context.Context) {
		fmt.Println("fetched")
		cancel() // leave it out in a program
	})
	fmt.Println("ended:", err)
	// Output:
	// fetched
	// ended: context canceled
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
