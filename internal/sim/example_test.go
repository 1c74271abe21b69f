package sim_test

import (
	"fmt"
	"time"

	"github.com/aimd-go/aimd/internal/sim"
)

// Improve on exponential backoff: one client, 2000 operations, and a service that takes 50 at a time.
func ExampleRun() {
	scenario := sim.Scenario{
		Server: sim.Server{
			Connect: 100 * time.Millisecond, Service: 500 * time.Millisecond, Slots: 50,
			Refusal: sim.Refusal{Time: 50 * time.Millisecond, Busy: true},
		},
		Clients: sim.Clients{Operations: 2000, Rate: 1000},
	}
	for _, name := range []string{"tahoe-0.9", "reno-0.9"} {
		strategy, _ := sim.StrategyNamed(name)
		r, err := sim.Run(scenario, strategy, 1)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %.1fs, %d attempts; at best %.1fs\n", name, r.Makespan.Seconds(), r.Attempts, r.Optimum.Seconds())
	}
	// Output:
	// tahoe-0.9: 25.2s, 2079 attempts; at best 20.1s
	// reno-0.9: 25.2s, 2085 attempts; at best 20.1s
}

// Every mistake is told at once, each with the field's path.
func ExampleScenario_Validate() {
	scenario := sim.Scenario{
		Server:  sim.Server{Queue: 10, Outages: []sim.Outage{{From: time.Minute}}},
		Clients: sim.Clients{Arrivals: "poisson"},
	}
	fmt.Println(scenario.Validate())
	// Output:
	// server.queue: 10 is not allowed, want slots with it
	// server.outages[0].for: 0s is not allowed, want a duration from 1ns to 720h0m0s
	// clients.rate: 0 is not allowed, want one with arrivals: poisson
}
