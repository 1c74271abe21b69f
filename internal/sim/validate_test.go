package sim_test

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/setting"
)

// Every wrong field is told with its path, its value and what is allowed.
func TestWrongFieldsAreTold(t *testing.T) {
	steep := sim.Knee{At: 3, Factor: 2}
	for want, change := range map[string]func(*sim.Scenario){
		"server.connect: -1s is not allowed, want a duration from 0s to 720h0m0s":                     func(s *sim.Scenario) { s.Server.Connect = -sec },
		"server.slots: -1 is not allowed, want a number from 0 to 10000000":                           func(s *sim.Scenario) { s.Server.Slots = -1 },
		"server.queue: 5 is not allowed, want slots with it":                                          func(s *sim.Scenario) { s.Server.Queue = 5 },
		`server.spread.kind: normal is not allowed, want constant, uniform, exponential or lognormal`: func(s *sim.Scenario) { s.Server.Spread.Kind = "normal" },
		"server.reserve: 0.1 is not allowed, want slots with it":                                      func(s *sim.Scenario) { s.Server.Reserve = 0.1 },
		"server.reserve: 0.1 is not allowed, want no queue with it, which knows no priorities":        func(s *sim.Scenario) { s.Server.Slots, s.Server.Queue, s.Server.Reserve = 5, 5, 0.1 },
		"server.spread.width: 2 is not allowed, want a number from 0 to 1":                            func(s *sim.Scenario) { s.Server.Spread = sim.Spread{Kind: "uniform", Width: 2} },
		"server.spread.width: 2 is not allowed, want kind uniform or lognormal with it":               func(s *sim.Scenario) { s.Server.Spread.Width = 2 },
		"server.rate.per_second: NaN is not allowed, want a number from 0 to 10000000":                func(s *sim.Scenario) { s.Server.Rate.PerSecond = math.NaN() },
		"server.knee.factor: 2 is not allowed, want no spread with it: it is one time for all requests": func(s *sim.Scenario) {
			s.Server.Knee, s.Server.Spread.Kind = steep, "exponential"
		},
		"server.knee.factor: 2 is not allowed, want no slope with it: choose one of them": func(s *sim.Scenario) { s.Server.Knee = sim.Knee{At: 3, Factor: 2, Slope: 1} },
		"server.knee.scale: 2 is not allowed, want factor with it":                        func(s *sim.Scenario) { s.Server.Knee = sim.Knee{At: 3, Scale: 2} },
		"server.jam: 1s is not allowed, want slots with it":                               func(s *sim.Scenario) { s.Server.Jam = sec },
		"server.jam: 1s is not allowed, want no queue with it":                            func(s *sim.Scenario) { s.Server.Jam, s.Server.Slots, s.Server.Queue = sec, 1, 1 },
		"server.failures.period: 1s is not allowed, want a for that is longer than 0 and shorter than the period": func(s *sim.Scenario) {
			s.Server.Failures = sim.Failures{For: sec, Period: sec}
		},
		"server.failures.lost: true is not allowed, want clients.timeout with it: clients wait for a lost answer until then": func(s *sim.Scenario) {
			s.Server.Failures.Lost = true
		},
		"server.quotas[0].per: 0s is not allowed, want a duration that is more than 0": func(s *sim.Scenario) {
			s.Server.Quotas = []sim.Quota{{Limit: 5}}
		},
		"server.knee.factor: 2 is not allowed, want no blocks with it: it is one time for all requests": func(s *sim.Scenario) {
			s.Server.Knee, s.Server.Blocks.Operations = steep, 1
		},
		"server.blocks.service: 1s is not allowed, want operations with it": func(s *sim.Scenario) { s.Server.Blocks.Service = sec },
		"server.capacity[0].service: 1s is not allowed, want no server.knee.factor with it, which has one time for all requests": func(s *sim.Scenario) {
			s.Server.Knee, s.Server.Capacity = steep, []sim.Change{{Service: sec}}
		},
		"server.capacity[1].at: 1s is not allowed, want 2s or later: changes stand in the order of time": func(s *sim.Scenario) {
			s.Server.Capacity = []sim.Change{{At: 2 * sec}, {At: sec}}
		},
		"server.capacity[0].slots: 3 is not allowed, want server.slots with it": func(s *sim.Scenario) { s.Server.Capacity = []sim.Change{{Slots: 3}} },
		"server.block.requests: 0 is not allowed, want a number from 1 to 10000000, or refused": func(s *sim.Scenario) {
			s.Server.Block.For = sec
		},
		"server.block.requests: 5 is not allowed, want for with it":                      func(s *sim.Scenario) { s.Server.Block.Requests = 5 },
		"server.rate.no_debt: true is not allowed, want count_refused with it":           func(s *sim.Scenario) { s.Server.Rate.NoDebt = true },
		"clients.stop_for: 1s is not allowed, want stop_every with it":                   func(s *sim.Scenario) { s.Clients.StopFor = sec },
		"clients.stop_every: 1s is not allowed, want stop_for with it":                   func(s *sim.Scenario) { s.Clients.StopEvery = sec },
		"server.outages[0].for: 0s is not allowed, want a duration from 1ns to 720h0m0s": func(s *sim.Scenario) { s.Server.Outages = []sim.Outage{{}} },
		"server.outages[1].from: 2s is not allowed, want 3s or later, when the outage before has ended": func(s *sim.Scenario) {
			s.Server.Outages = []sim.Outage{{From: sec, For: 2 * sec}, {From: 2 * sec, For: sec}}
		},
		"clients.rate: 0 is not allowed, want one with arrivals: poisson":            func(s *sim.Scenario) { s.Clients.Arrivals = "poisson" },
		"clients.rate: 5 is not allowed, want none with arrivals: closed":            func(s *sim.Scenario) { s.Clients.Arrivals, s.Clients.Rate = "closed", 5 },
		"clients.period: 1ms is not allowed, want a duration from 10ms to 8760h0m0s": func(s *sim.Scenario) { s.Clients.Period = ms },
		`clients.start: "together" is not allowed, want none with form: jittered-time, which has a start of its own`: func(s *sim.Scenario) {
			s.Clients = sim.Clients{Period: sec, Start: "together"}
		},
		"server.rate.window: 1s is not allowed, want per_second with it":                                               func(s *sim.Scenario) { s.Server.Rate.Window = sec },
		"server.rate.window: 1s is not allowed, want one in which there are 1 to 10000000 requests, at 0.5 per second": func(s *sim.Scenario) { s.Server.Rate = sim.Rate{PerSecond: 0.5, Window: sec} },
		"server.rate.burst: 5 is not allowed, want no window with it, which has no bucket":                             func(s *sim.Scenario) { s.Server.Rate = sim.Rate{PerSecond: 10, Burst: 5, Window: sec} },
		"server.outages[0].kind: lost is not allowed, want clients.timeout with it: clients wait for a lost answer until then": func(s *sim.Scenario) {
			s.Server.Outages = []sim.Outage{{For: sec, Kind: "lost"}}
		},
		"clients.stagger: 1s is not allowed, want none with arrivals: constant":    func(s *sim.Scenario) { s.Clients.Stagger, s.Clients.Rate = sec, 1 },
		"clients.stagger: -1s is not allowed, want a duration from 0s to 720h0m0s": func(s *sim.Scenario) { s.Clients.Stagger, s.Clients.Count = -sec, 10 },
		"clients.burst_at: 1s is not allowed, want burst with it":                  func(s *sim.Scenario) { s.Clients.BurstAt = sec },
		"clients.burst: 5 is not allowed, want none with arrivals: closed":         func(s *sim.Scenario) { s.Clients.Arrivals, s.Clients.Burst = "closed", 5 },
		"watch_from: 1s is not allowed, want watch_for with it":                    func(s *sim.Scenario) { s.WatchFrom = sec },
	} {
		t.Run(want, func(t *testing.T) {
			s := sim.Scenario{Clients: sim.Clients{Operations: 1}}
			change(&s)
			err := s.Validate()
			require.EqualError(t, err, want)
			var field *setting.Error
			require.ErrorAs(t, err, &field)
			_, err = sim.Run(s, sim.Strategy{}, 1)
			require.EqualError(t, err, want)
		})
	}
}

// No field is forgotten: each number and time below nothing is wrong, and so is each word that nobody knows.
func TestEveryFieldIsChecked(t *testing.T) {
	filled := func() *sim.Scenario {
		return &sim.Scenario{Server: sim.Server{
			Quotas: make([]sim.Quota, 1), Capacity: make([]sim.Change, 1), Outages: make([]sim.Outage, 1),
		}}
	}
	checked := 0
	var each func(path string, at func(*sim.Scenario) reflect.Value)
	each = func(path string, at func(*sim.Scenario) reflect.Value) {
		s := filled()
		switch v := at(s); v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				if name := v.Type().Field(i).Tag.Get("yaml"); name > "-" {
					each(strings.Trim(path+"."+name, "."), func(s *sim.Scenario) reflect.Value { return at(s).Field(i) })
				}
			}
			return
		case reflect.Slice:
			each(path+"[0]", func(s *sim.Scenario) reflect.Value { return at(s).Index(0) })
			return
		case reflect.Int, reflect.Int64:
			v.SetInt(-1)
		case reflect.Float64:
			v.SetFloat(-1)
		case reflect.String:
			v.SetString("unknown")
		default:
			return
		}
		checked++
		require.ErrorContains(t, s.Validate(), path+": ")
	}
	each("", func(s *sim.Scenario) reflect.Value { return reflect.ValueOf(s).Elem() })
	require.Greater(t, checked, 60)
}

// A strategy is checked as an item of a list, and by Run under a path of its own.
func TestWrongStrategiesAreTold(t *testing.T) {
	type window = sim.Window
	for want, st := range map[string]sim.Strategy{
		"retry.min: 1h0m0s is not allowed, want a duration from 1ns to 1s":              {Retry: &backoff.Exponential{Min: time.Hour, Max: sec}},
		"retry_after: true is not allowed, want retry with it":                          {RetryAfter: true},
		"window.law: cubic is not allowed, want probe, tahoe or reno":                   {Window: window{Law: "cubic"}},
		`window.law: "" is not allowed, want one: the other fields are about it`:        {Window: window{Factor: 0.5}},
		"window.factor: 2 is not allowed, want a number greater than 0 and less than 1": {Window: window{Law: "reno", Factor: 2}},
		"window.factor: 0.5 is not allowed, want none with law: probe":                  {Window: window{Law: "probe", Factor: 0.5}},
		"window.initial: 0.5 is not allowed, want a number from 1 to 1048576":           {Window: window{Law: "reno", Initial: 0.5}},
		"budget: 1 is not allowed, want a number from 0 to less than 1":                 {Budget: 1},
		"throttle: 0.5 is not allowed, want a number from 1 to 100":                     {Throttle: 0.5},
		"sense: 0.1 is not allowed, want no window with it":                             {Window: window{Law: "reno"}, Sense: 0.1},
		"sense: -1 is not allowed, want a number from 0 to 1":                           {Sense: -1},
	} {
		assert.EqualError(t, sim.Scenario{}.Validate(sim.Strategy{}, st), "strategies[1]."+want)
		_, err := sim.Run(sim.Scenario{}, st, 1)
		assert.EqualError(t, err, "strategy."+want)
	}
}

// A run has bounds on events and virtual time and says when it hit them
func TestRunsEnd(t *testing.T) {
	s := sim.Scenario{Server: sim.Server{Failures: sim.Failures{Rate: 1}}, Clients: clients(1, 0), Horizon: time.Minute}
	r := run(t, s, fixed(sec))
	assert.Equal(t, "horizon", r.Ended)
	assert.Equal(t, time.Minute, r.End)
	assert.Equal(t, 61, r.Attempts)

	s.MaxEvents = 30
	r = run(t, s, fixed(sec))
	assert.Equal(t, "events", r.Ended)
	assert.Equal(t, 30, r.Events)

	// Without any wait, at one and the same time.
	s.MaxEvents = 0
	r = run(t, s, sim.Strategy{Retry: &backoff.Exponential{Min: 1, Factor: 1}})
	assert.Equal(t, "events", r.Ended)
	assert.Zero(t, r.End)

	asked := 0
	s.Stop = func() bool { asked++; return asked == 3 }
	r = run(t, s, sim.Strategy{Retry: &backoff.Exponential{Min: 1, Factor: 1}})
	assert.Equal(t, "stopped", r.Ended)
}

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

// A run makes much that the next run does not need: collected at five times as much it costs a fifth less.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
