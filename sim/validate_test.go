package sim_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/sim"
)

// Every wrong field is told with its path, its value and what is allowed.
func TestWrongFieldsAreTold(t *testing.T) {
	for want, change := range map[string]func(*sim.Scenario){
		"server.connect: -1s is not allowed, want a duration from 0s to 720h0m0s":                       func(s *sim.Scenario) { s.Server.Connect = -sec },
		"server.service: -1s is not allowed, want a duration from 0s to 720h0m0s":                       func(s *sim.Scenario) { s.Server.Service = -sec },
		"server.slots: -1 is not allowed, want a number from 0 to 10000000":                             func(s *sim.Scenario) { s.Server.Slots = -1 },
		"server.queue: 5 is not allowed without slots":                                                  func(s *sim.Scenario) { s.Server.Queue = 5 },
		"server.refusal.time: -1ns is not allowed, want a duration from 0s to 720h0m0s":                 func(s *sim.Scenario) { s.Server.Refusal.Time = -1 },
		`server.spread.kind: "normal" is not allowed, want constant, uniform, exponential or lognormal`: func(s *sim.Scenario) { s.Server.Spread.Kind = "normal" },
		"server.reserve: 0.1 is not allowed without slots":                                              func(s *sim.Scenario) { s.Server.Reserve = 0.1 },
		"server.reserve: 0.1 is not allowed with a queue, which knows no priorities":                    func(s *sim.Scenario) { s.Server.Slots, s.Server.Queue, s.Server.Reserve = 5, 5, 0.1 },
		"server.reserve: 2 is not allowed, want a number from 0 to 1":                                   func(s *sim.Scenario) { s.Server.Reserve = 2 },
		"clients.background: -0.1 is not allowed, want a number from 0 to 1":                            func(s *sim.Scenario) { s.Clients.Background = -0.1 },
		"server.spread.width: 2 is not allowed, want a number from 0 to 1":                              func(s *sim.Scenario) { s.Server.Spread = sim.Spread{Kind: "uniform", Width: 2} },
		"server.spread.width: 2 is not allowed, only a uniform or lognormal spread has a width":         func(s *sim.Scenario) { s.Server.Spread.Width = 2 },
		"server.rate.per_second: NaN is not allowed, want a number from 0 to 10000000":                  func(s *sim.Scenario) { s.Server.Rate.PerSecond = math.NaN() },
		"server.slowdown.factor: 1 is not allowed, want a number from 1.0001 to 1000":                   func(s *sim.Scenario) { s.Server.Slowdown.Factor = 1 },
		"server.slowdown.limit: 3 is not allowed with a spread: a slowdown has one time for all requests": func(s *sim.Scenario) {
			s.Server.Slowdown.Limit, s.Server.Spread.Kind = 3, "exponential"
		},
		"server.slowdown.limit: 3 is not allowed with a knee: choose one of them":   func(s *sim.Scenario) { s.Server.Slowdown.Limit, s.Server.Knee.At = 3, 3 },
		"server.knee.slope: +Inf is not allowed, want a number from 0 to 100":       func(s *sim.Scenario) { s.Server.Knee.Slope = math.Inf(1) },
		"server.medium.places: -1 is not allowed, want a number from 0 to 10000000": func(s *sim.Scenario) { s.Server.Medium.Places = -1 },
		"server.failures.rate: 1.5 is not allowed, want a number from 0 to 1":       func(s *sim.Scenario) { s.Server.Failures.Rate = 1.5 },
		"server.failures.period: 1s is not allowed with for: 1s, want a for that is longer than 0 and shorter than the period": func(s *sim.Scenario) {
			s.Server.Failures = sim.Failures{For: sec, Period: sec}
		},
		"server.failures.lost: true is not allowed without clients.timeout: clients wait for a lost answer until then": func(s *sim.Scenario) {
			s.Server.Failures.Lost = true
		},
		"server.quotas[0]: 5 per 0s is not allowed, want a limit and a per that are more than 0": func(s *sim.Scenario) {
			s.Server.Quotas = []sim.Quota{{Limit: 5}}
		},
		"server.blocks.service: 1s is not allowed without operations": func(s *sim.Scenario) { s.Server.Blocks.Service = sec },
		"server.slowdown.limit: 3 is not allowed with blocks: a slowdown has one time for all requests": func(s *sim.Scenario) {
			s.Server.Slowdown.Limit, s.Server.Blocks.Operations = 3, 1
		},
		"server.capacity[0].service: 1s is not allowed with a slowdown, which has one time for all requests": func(s *sim.Scenario) {
			s.Server.Slowdown.Limit, s.Server.Capacity = 3, []sim.Change{{Service: sec}}
		},
		"server.capacity[1].at: 1s is not allowed after 2s: changes stand in the order of time": func(s *sim.Scenario) {
			s.Server.Capacity = []sim.Change{{At: 2 * sec}, {At: sec}}
		},
		"server.capacity[0].slots: 3 is not allowed without server.slots":          func(s *sim.Scenario) { s.Server.Capacity = []sim.Change{{Slots: 3}} },
		"server.capacity[0].rate: 3 is not allowed without server.rate.per_second": func(s *sim.Scenario) { s.Server.Capacity = []sim.Change{{Rate: 3}} },
		"server.block.requests: 0 is not allowed without refused, want a number from 1 to 10000000": func(s *sim.Scenario) {
			s.Server.Block.For = sec
		},
		"server.block.requests: -1 is not allowed, want a number from 1 to 10000000": func(s *sim.Scenario) {
			s.Server.Block = sim.Block{For: sec, Requests: -1}
		},
		"server.block.within: 2h0m0s is not allowed, want a duration from 1ms to 1h0m0s": func(s *sim.Scenario) { s.Server.Block.Within = 2 * time.Hour },
		"server.block.requests: 5 is not allowed without for":                            func(s *sim.Scenario) { s.Server.Block.Requests = 5 },
		"server.block.forbidden: true is not allowed without for":                        func(s *sim.Scenario) { s.Server.Block.Forbidden = true },
		"server.rate.no_debt: true is not allowed without count_refused":                 func(s *sim.Scenario) { s.Server.Rate.NoDebt = true },
		"clients.stops.for: 1s is not allowed without every":                             func(s *sim.Scenario) { s.Clients.Stops.For = sec },
		"clients.stops.every: 1s is not allowed without for":                             func(s *sim.Scenario) { s.Clients.Stops.Every = sec },
		"server.outages[0].for: 0s is not allowed, want a duration from 1ns to 720h0m0s": func(s *sim.Scenario) { s.Server.Outages = []sim.Outage{{}} },
		"server.outages[1].from: 2s is not allowed, the outage before ends at 3s": func(s *sim.Scenario) {
			s.Server.Outages = []sim.Outage{{From: sec, For: 2 * sec}, {From: 2 * sec, For: sec}}
		},
		`server.outages[0].kind: "slow" is not allowed, want errors, silent or lost`:                  func(s *sim.Scenario) { s.Server.Outages = []sim.Outage{{For: 1, Kind: "slow"}} },
		"clients.count: -1 is not allowed, want a number from 0 to 100000":                            func(s *sim.Scenario) { s.Clients.Count = -1 },
		"clients.operations: -1 is not allowed, want a number from 0 to 10000000":                     func(s *sim.Scenario) { s.Clients.Operations = -1 },
		`clients.arrivals: "bursts" is not allowed, want once, constant, poisson, closed or periodic`: func(s *sim.Scenario) { s.Clients.Arrivals = "bursts" },
		"clients.rate: 0 is not allowed with arrivals: poisson":                                       func(s *sim.Scenario) { s.Clients.Arrivals = "poisson" },
		"clients.rate: 5 is not allowed with arrivals: closed":                                        func(s *sim.Scenario) { s.Clients.Arrivals, s.Clients.Rate = "closed", 5 },
		"clients.period: 1ms is not allowed, want a duration from 10ms to 8760h0m0s":                  func(s *sim.Scenario) { s.Clients.Period = ms },
		`clients.start: "together" is not allowed with form: jittered-time, which has a start of its own`: func(s *sim.Scenario) {
			s.Clients = sim.Clients{Period: sec, Start: "together"}
		},
		"server.connect_spread.width: 2 is not allowed, want a number from 0 to 1":                                      func(s *sim.Scenario) { s.Server.ConnectSpread = sim.Spread{Kind: "uniform", Width: 2} },
		"server.refusal.spread.width: 4 is not allowed, want a number from 0 to 3":                                      func(s *sim.Scenario) { s.Server.Refusal.Spread = sim.Spread{Kind: "lognormal", Width: 4} },
		"server.rate.window: 2h0m0s is not allowed, want a duration from 0s to 1h0m0s":                                  func(s *sim.Scenario) { s.Server.Rate = sim.Rate{PerSecond: 1, Window: 2 * time.Hour} },
		"server.rate.window: 1s is not allowed without per_second":                                                      func(s *sim.Scenario) { s.Server.Rate.Window = sec },
		"server.rate.window: 1s is not allowed with 0.5 per second, want one in which there are 1 to 10000000 requests": func(s *sim.Scenario) { s.Server.Rate = sim.Rate{PerSecond: 0.5, Window: sec} },
		"server.rate.burst: 5 is not allowed with a window, which has no bucket":                                        func(s *sim.Scenario) { s.Server.Rate = sim.Rate{PerSecond: 10, Burst: 5, Window: sec} },
		"server.outages[0].kind: lost is not allowed without clients.timeout: clients wait for a lost answer until then": func(s *sim.Scenario) {
			s.Server.Outages = []sim.Outage{{For: sec, Kind: "lost"}}
		},
		"clients.stagger: 1s is not allowed with arrivals: constant":               func(s *sim.Scenario) { s.Clients.Stagger, s.Clients.Rate = sec, 1 },
		"clients.stagger: -1s is not allowed, want a duration from 0s to 72h0m0s":  func(s *sim.Scenario) { s.Clients.Stagger, s.Clients.Count = -sec, 10 },
		"clients.burst.at: 1s is not allowed without operations":                   func(s *sim.Scenario) { s.Clients.Burst.At = sec },
		"clients.burst.operations: 5 is not allowed with arrivals: closed":         func(s *sim.Scenario) { s.Clients.Arrivals, s.Clients.Burst.Operations = "closed", 5 },
		"clients.lateness: 1h0m0s is not allowed, want a duration from 0s to 1m0s": func(s *sim.Scenario) { s.Clients.Lateness = time.Hour },
		"watch.for: -1s is not allowed, want a duration from 0s to 720h0m0s":       func(s *sim.Scenario) { s.Watch.For = -sec },
		"watch.from: 1s is not allowed without for":                                func(s *sim.Scenario) { s.Watch.From = sec },
		"regain: 2 is not allowed, want a number from 0 to 1":                      func(s *sim.Scenario) { s.Regain = 2 },
		"clients.timeout: -1s is not allowed, want a duration from 0s to 720h0m0s": func(s *sim.Scenario) { s.Clients.Timeout = -sec },
		"runs: -1 is not allowed, want a number from 0 to 10000":                   func(s *sim.Scenario) { s.Runs = -1 },
		"horizon: -1s is not allowed, want a duration from 0s to 720h0m0s":         func(s *sim.Scenario) { s.Horizon = -sec },
		"max_events: -1 is not allowed, want a number from 0 to 2000000000":        func(s *sim.Scenario) { s.MaxEvents = -1 },
		"trace: 1ns is not allowed, want a duration from 1ms to 1h0m0s":            func(s *sim.Scenario) { s.Trace = 1 },

		"strategies[0].name: a strategy needs a name":                                                               strategies(sim.Strategy{}),
		"strategies[1].name: there are two strategies with the name a":                                              strategies(sim.Strategy{Name: "a"}, sim.Strategy{Name: "a"}),
		`strategies[0].retry.kind: "linear" is not allowed, want none, constant, exponential, compound or last-try`: retries(sim.Retry{Kind: "linear"}),
		"strategies[0].retry.min: -1s is not allowed, want a duration from 0s to 876000h0m0s":                       retries(sim.Retry{Min: -sec}),
		"strategies[0].retry.min: 1h0m0s is not allowed, want a duration from 1ns to 1s":                            retries(sim.Retry{Kind: "exponential", Min: time.Hour, Max: sec}),
		"strategies[0].retry.factor: 0.5 is not allowed, want a number from 1 to 1000":                              retries(sim.Retry{Kind: "exponential", Factor: 0.5}),
		"strategies[0].retry.factor: 5000 is not allowed, want a number from 1 to 1000":                             retries(sim.Retry{Kind: "last-try", Factor: 5000}),
		"strategies[0].retry.jitter: proportional:3 is not allowed, want a number from 0 to 1":                      retries(sim.Retry{Kind: "constant", Jitter: backoff.Proportional(3)}),
		"strategies[0].retry.attempts: -1 is not allowed, want a number from 0 to 1000000":                          retries(sim.Retry{Attempts: -1}),
		`strategies[0].window.law: "cubic" is not allowed, want probe, tahoe or reno`:                               windows(sim.Window{Law: "cubic"}),
		"strategies[0].window.factor: 2 is not allowed, want a number greater than 0 and less than 1":               windows(sim.Window{Law: "reno", Factor: 2}),
		"strategies[0].window.initial: 0.5 is not allowed, want a number from 1 to 1048576":                         windows(sim.Window{Law: "reno", Initial: 0.5}),
		"strategies[0].window.min: -1 is not allowed, want a number from 1 to 1048576":                              windows(sim.Window{Law: "reno", Min: -1}),
		"strategies[0].window.max: 2 is not allowed, want a number from 3 to 1048576":                               windows(sim.Window{Law: "reno", Min: 3, Max: 2}),
		"strategies[0].window.patience: -1 is not allowed, want a number from 1":                                    windows(sim.Window{Law: "reno", Patience: -1}),
		"strategies[0].budget.share: 1 is not allowed, want a number greater than 0 and less than 1":                strategies(sim.Strategy{Name: "a", Budget: sim.Budget{Share: 1}}),
		"strategies[0].budget.window: 1ns is not allowed, want a duration from 1s to 1h0m0s":                        strategies(sim.Strategy{Name: "a", Budget: sim.Budget{Share: 0.1, Window: 1}}),
		"strategies[0].throttle: 0.5 is not allowed, want a number from 1 to 100":                                   strategies(sim.Strategy{Name: "a", Throttle: 0.5}),
		"strategies[0].sense: 0.1 is not allowed with a window":                                                     strategies(sim.Strategy{Name: "a", Window: sim.Window{Law: "reno"}, Sense: 0.1}),
		"strategies[0].retry.min: 1s is not allowed without kind":                                                   retries(sim.Retry{Min: sec}),
		"strategies[0].retry.jitter: full is not allowed without kind":                                              retries(sim.Retry{Jitter: backoff.Full()}),
		"strategies[0].retry.retry_after: true is not allowed without kind":                                         retries(sim.Retry{RetryAfter: true}),
		"strategies[0].window.factor: 0.5 is not allowed without law":                                               windows(sim.Window{Factor: 0.5}),
		"server.rate.burst: 0.5 is not allowed, want a number from 1 to 10000000":                                   func(s *sim.Scenario) { s.Server.Rate.Burst = 0.5 },
		"strategies[0].sense: 2 is not allowed, want a number from 0 to 1":                                          strategies(sim.Strategy{Name: "a", Sense: 2}),
	} {
		t.Run(want, func(t *testing.T) {
			s := sim.Scenario{Clients: sim.Clients{Operations: 1}}
			change(&s)
			err := s.Validate()
			require.EqualError(t, err, want)
			var field *sim.FieldError
			require.ErrorAs(t, err, &field)
			if len(s.Strategies) == 0 {
				_, err = sim.Run(s, sim.Strategy{Name: "a"}, 1)
				require.EqualError(t, err, want)
			}
		})
	}
}

func strategies(all ...sim.Strategy) func(*sim.Scenario) {
	return func(s *sim.Scenario) { s.Strategies = all }
}

func retries(r sim.Retry) func(*sim.Scenario) {
	return strategies(sim.Strategy{Name: "a", Retry: r})
}

func windows(w sim.Window) func(*sim.Scenario) {
	return strategies(sim.Strategy{Name: "a", Window: w})
}

// All that is wrong is told at once, in the order of the fields.
func TestAllThatIsWrongIsTold(t *testing.T) {
	s := sim.Scenario{Runs: -1, Server: sim.Server{Slots: -1}, Strategies: []sim.Strategy{{}}}
	var errs interface{ Unwrap() []error }
	require.ErrorAs(t, s.Validate(), &errs)
	var paths []string
	for _, e := range errs.Unwrap() {
		var field *sim.FieldError
		require.ErrorAs(t, e, &field)
		paths = append(paths, field.Path)
	}
	assert.Equal(t, []string{"server.slots", "strategies[0].name", "runs"}, paths)
	_, err := sim.Run(sim.Scenario{}, sim.Strategy{Name: "a", Sense: -1}, 1)
	assert.EqualError(t, err, "strategy.sense: -1 is not allowed, want a number from 0 to 1")
}

// A scenario file needs nothing but server and clients, and not even those.
func TestDefaults(t *testing.T) {
	s := sim.Scenario{}
	require.NoError(t, s.Validate())
	s = s.WithDefaults()
	assert.Equal(t, 1, s.Clients.Count)
	assert.Equal(t, 1, s.Clients.Operations)
	assert.Equal(t, "once", s.Clients.Arrivals)
	assert.Equal(t, time.Hour, s.Horizon)
	assert.Equal(t, sim.Strategies(), s.Strategies)
	assert.Equal(t, s, s.WithDefaults())
	s = sim.Scenario{Clients: sim.Clients{Rate: 5}}.WithDefaults()
	assert.Equal(t, "constant", s.Clients.Arrivals)
	assert.Equal(t, 5*time.Minute, s.Horizon)
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
	r = run(t, s, sim.Strategy{Retry: sim.Retry{Kind: "constant"}})
	assert.Equal(t, "events", r.Ended)
	assert.Zero(t, r.End)

	asked := 0
	s.Stop = func() bool { asked++; return asked == 3 }
	r = run(t, s, sim.Strategy{Retry: sim.Retry{Kind: "constant"}})
	assert.Equal(t, "stopped", r.Ended)
}
