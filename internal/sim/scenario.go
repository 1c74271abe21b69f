package sim

import (
	"cmp"
	"math"
	"time"
)

// Scenario is a service and its clients. Zero fields take the documented default. Run changes nothing in a
// scenario.
//
// The yaml tags are the names of the fields in scenario files and in errors, the in tags their bounds or words.
type Scenario struct {
	// Server is the service. Absent fields play no part: without any field it answers at once.
	Server Server `yaml:"server"`
	// Clients send the requests.
	Clients Clients `yaml:"clients"`
	// Horizon ends a run on virtual time; 0 means 1 h, or 5 min without a number of operations.
	Horizon time.Duration `yaml:"horizon"`
	// MaxEvents ends a run after n events; 0 means 20 000 000, or, with a number of operations, 1 000 000 and 200 for
	// each operation.
	MaxEvents int `yaml:"max_events" in:"0..2000000000"`
	// WatchFrom is the start of the watch. It measures the use of the capacity, the attempts for each operation
	// done, errors, the most attempts in flight, and Jain's fairness index.
	WatchFrom time.Duration `yaml:"watch_from"`
	// WatchFor is the length of the watch; 0: nothing is watched.
	WatchFor time.Duration `yaml:"watch_for"`
	// Regain is the share of the capacity that counts as regained after the last change or outage. If the clients' demand
	// is less, it is the share of the demand. 0 turns the measure off.
	Regain float64 `yaml:"regain" in:"0..1"`
	// Trace is the time between two samples of the traces; 0 means 100 ms. It doubles while a run lasts longer than 4096
	// intervals.
	Trace time.Duration `yaml:"trace" in:"1ms..1h"`
	// NoTraces leaves the traces out.
	NoTraces bool `yaml:"-"`
	// Optimum is the Result.Optimum of another strategy with the same seed; 0: Run works it out.
	Optimum time.Duration `yaml:"-"`
	// Stop is asked every 4096 events, and ends the run if it returns true. It may be nil.
	Stop func() bool `yaml:"-"`
}

func (s Scenario) watches(now time.Duration) bool {
	return now >= s.WatchFrom && now-s.WatchFrom < s.WatchFor
}

func (s Scenario) withDefaults() Scenario {
	s.Clients = s.Clients.withDefaults()
	s.Server = s.Server.withDefaults()
	n := s.Clients.total()
	if n > 0 {
		s.Horizon = cmp.Or(s.Horizon, time.Hour)
		// Plain backoff makes 60 events for each operation at worst.
		s.MaxEvents = cmp.Or(s.MaxEvents, 1_000_000+200*n)
	}
	s.Horizon = cmp.Or(s.Horizon, 5*time.Minute)
	s.MaxEvents = cmp.Or(s.MaxEvents, 20_000_000)
	s.Trace = cmp.Or(s.Trace, 100*time.Millisecond)
	return s
}

// The words of Clients.Arrivals, Form and Start.
const (
	onceWord     = "once"
	steadyWord   = "constant"
	poisson      = "poisson"
	closedWord   = "closed"
	periodicWord = "periodic"

	fixedPeriod    = "fixed"
	jitteredPeriod = "jittered-period"
	jitteredTime   = "jittered-time"
	jitteredSlip   = "jittered-time-slip"

	together  = "together"
	jittered  = "jittered"
	scattered = "scattered"
)

// Clients send the requests. Each client has its own limiter, budget and throttle, unless the strategy is Shared.
// The tags are as in Server.
type Clients struct {
	// Count is the number of clients; 0 means 1.
	Count int `yaml:"count" in:"0..100000"`
	// Operations is the number of operations of all clients, which take turns. 0: the operations that come before
	// the horizon, or one for each client with "once".
	Operations int `yaml:"operations"`
	// Arrivals says when operations are born:
	//   - "once": all at the start. The default.
	//   - "constant": at a constant rate, the first at once. The default with a Rate.
	//   - "poisson": at random times, at a mean rate.
	//   - "closed": each client has one operation at a time, and thinks before the next. The default with a Think.
	//   - "periodic": each client has one operation every period. The default with a Period.
	Arrivals string `yaml:"arrivals" in:"once|constant|poisson|closed|periodic"`
	// Rate is operations a second over all clients, of "constant" and "poisson".
	Rate float64 `yaml:"rate" in:"0..1e7"`
	// Think is the mean of the exponentially distributed time before each operation of a "closed" client.
	Think time.Duration `yaml:"think"`
	// Period is the period of a "periodic" client.
	Period time.Duration `yaml:"period"`
	// Form is the rule for the next time of a periodic client, in the words of Safe Client Behaviour:
	//   - "fixed": wait(period) after each operation.
	//   - "jittered-period": wait(period * random(.5, 1.5)) after each operation.
	//   - "jittered-time": a random time in each period of a fixed grid, as in package schedule. The default.
	//   - "jittered-time-slip": the same by mistake, the time cut off to the grid after the jitter.
	Form string `yaml:"form" in:"fixed|jittered-period|jittered-time|jittered-time-slip"`
	// Start is the time of the first operation of a client of "fixed" or "jittered-period": "together" by default,
	// "jittered" after wait(period * random(.5, 1.5)), or "scattered" over the first period.
	Start string `yaml:"start" in:"together|jittered|scattered"`
	// Background is the share of the operations that is background work.
	Background float64 `yaml:"background" in:"0..1"`
	// Stagger is the time between the starts of two clients, of "once" and "closed".
	Stagger time.Duration `yaml:"stagger"`
	// Burst is the number of operations that are born at once at BurstAt, in addition to Operations; 0: no burst.
	// Not for "closed" and "periodic".
	Burst int `yaml:"burst"`
	// BurstAt is the time at which the burst is born.
	BurstAt time.Duration `yaml:"burst_at"`
	// Timeout is the time for which a client waits for an answer; 0: for ever. The server keeps a request that the
	// client gave up.
	Timeout time.Duration `yaml:"timeout"`
	// Deadline is the time after its birth at which the caller of an operation leaves; 0: never. The server keeps the request, and
	// a limiter does not send what is too late.
	Deadline time.Duration `yaml:"deadline"`
	// Lateness bounds the random lateness of the clients' timers: the end of a wait, of a pause or gap of a limiter, or
	// of a Timeout. On real machines it is 1 ms.
	Lateness time.Duration `yaml:"lateness" in:"0..1m"`
	// StopFor is the length of a stop, in which no client sends a request or reads an answer, as on a busy machine; 0: no
	// stops.
	StopFor time.Duration `yaml:"stop_for" in:"0..1h"`
	// StopEvery is the mean time between two stops. The time is U(0.5, 1.5) times the mean.
	StopEvery time.Duration `yaml:"stop_every" in:"1ms..720h"`
	// CPU is the processor time that an attempt takes from its client, to be summed up; it delays nothing.
	CPU time.Duration `yaml:"cpu" in:"0..1h"`
	// Price is the price of an attempt, to be summed up, in any currency.
	Price float64 `yaml:"price" in:"0..1e6"`
}

// total is the number of operations, 0: as many as come.
func (s Clients) total() int {
	if s.Operations == 0 {
		return 0
	}
	return s.Operations + s.Burst
}

// background reports whether the nth operation is background work: evenly and without chance, so that
// priorities are the only difference to a run without them.
func (s Clients) background(n int) bool {
	return math.Floor(float64(n+1)*s.Background) > math.Floor(float64(n)*s.Background)
}

// demand is the operations a second that the clients ask for, +Inf: no bound.
func (s Clients) demand(v Server) float64 {
	each := math.Inf(1)
	switch s.Arrivals {
	case steadyWord, poisson:
		return s.Rate
	case closedWord:
		each = (s.Think + v.Connect + v.Service).Seconds()
	case periodicWord:
		each = s.Period.Seconds()
	default:
		return each
	}
	return float64(s.Count) / each
}

func (s Clients) withDefaults() Clients {
	s.Count = max(s.Count, 1)
	switch {
	case s.Arrivals != "":
	case s.Period > 0:
		s.Arrivals = periodicWord
	case s.Think > 0:
		s.Arrivals = closedWord
	case s.Rate > 0:
		s.Arrivals = steadyWord
	default:
		s.Arrivals = onceWord
	}
	if s.Arrivals == onceWord {
		s.Operations = cmp.Or(s.Operations, s.Count)
	}
	s.Form = cmp.Or(s.Form, jitteredTime)
	if !s.onGrid() {
		s.Start = cmp.Or(s.Start, together)
	}
	return s
}

func (s Clients) onGrid() bool {
	return s.Form == "" || s.Form == jitteredTime || s.Form == jitteredSlip
}
