package sim

import (
	"time"

	"github.com/aimd-go/aimd/internal/grid"
)

// The words of Clients.Arrivals, Form and Start, which say what they mean.
const (
	onceWord     = "once"
	steadyWord   = "constant"
	poisson      = "poisson"
	onOff        = "on-off"
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

// Clients are what asks the service. Each has a limiter, budget and throttle of its own.
type Clients struct {
	// Count is how many there are; 0 means 1.
	Count int `yaml:"count"`
	// Operations is how many operations there are, over all clients, which take
	// turns; 0: as many as come before the horizon. With "once", 0 means one each.
	Operations int `yaml:"operations"`
	// Arrivals is when operations are born:
	//   - "once": all of them at the start. The default.
	//   - "constant": at a constant rate, the first at once. The default with a Rate.
	//   - "poisson": at random times, at a mean rate.
	//   - "on-off": at a constant rate while on, not at all while off.
	//   - "closed": each client has one operation at a time, and thinks between the end
	//     of one and the next: the clients of How not to crash a server and, with no time
	//     to think, the submitters of Exponential Backoff in Distributed Systems. The
	//     default with a Think.
	//   - "periodic": each client has one operation every period: the clients of Safe
	//     Client Behaviour. The default with a Period.
	Arrivals string `yaml:"arrivals"`
	// Rate is operations a second over all clients: of "constant", "poisson" and, while
	// it is on, "on-off".
	Rate float64 `yaml:"rate"`
	// On and Off are the lengths of the phases of "on-off", which begins on.
	On  time.Duration `yaml:"on"`
	Off time.Duration `yaml:"off"`
	// Think is the mean time between operations of a "closed" client, exponentially
	// distributed, and before the first; 0: none.
	Think time.Duration `yaml:"think"`
	// Period is that of a "periodic" client.
	Period time.Duration `yaml:"period"`
	// Form is how a periodic client finds its next time:
	//   - "fixed" is the "Worst case": wait(period) after each operation.
	//   - "jittered-period" is "Injecting jitter: Randomly change the periodicity":
	//     wait(period * random(.5, 1.5)) after each operation. It oscillates after a
	//     common start.
	//   - "jittered-time" is "Jitter execution time, not period": a random time in each
	//     period of a fixed grid, as package schedule has it. The default.
	//   - "jittered-time-slip" is "Introducing synchronization by mistake": the same with
	//     two lines swapped, so that the time is cut off to the grid after the jitter was
	//     added, and nothing of the jitter is left.
	Form string `yaml:"form"`
	// Start is when a client of "fixed" or "jittered-period" has its first operation:
	// "together", all at once, as after a restart of the service, the default; "jittered",
	// each after wait(period * random(.5, 1.5)); "scattered", each at a random time of the
	// first period, as after a long while. The other forms begin in the first whole period
	// of their grid.
	Start string `yaml:"start"`
	// Background is the share of the operations that is background work, 0 to 1; the
	// others are interactive.
	Background float64 `yaml:"background"`
	// Stagger is how much later than the one before each client starts, the first
	// at once; 0: all together. Of "once" and "closed".
	Stagger time.Duration `yaml:"stagger"`
	// Burst is on top of all that, except with "closed" and "periodic".
	Burst Burst `yaml:"burst"`
	// Timeout is how long a client waits for an answer; 0: for ever. A request that it gave
	// up stays at the server, which does not know.
	Timeout time.Duration `yaml:"timeout"`
	// Lateness is by how much the clients' timers fire late, each by a random time
	// up to this, as those of real machines do by some 1 ms: what ends a wait before a
	// retry, a pause or gap of a limiter, or a Timeout. 0: never.
	Lateness time.Duration `yaml:"lateness"`
}

// Burst is so many operations at once, beside those of Clients.Operations.
type Burst struct {
	// At is when they are born.
	At time.Duration `yaml:"at"`
	// Operations is how many, over all clients, which take turns; 0: no burst.
	Operations int `yaml:"operations"`
}

// total is how many operations there are, 0: as many as come.
func (s Clients) total() int {
	if s.Operations == 0 {
		return 0
	}
	return s.Operations + s.Burst.Operations
}

func (s Clients) withDefaults() Clients {
	s.Count = max(s.Count, 1)
	if s.Arrivals == "" {
		switch {
		case s.Period > 0:
			s.Arrivals = periodicWord
		case s.Think > 0:
			s.Arrivals = closedWord
		case s.Rate > 0:
			s.Arrivals = steadyWord
		default:
			s.Arrivals = onceWord
		}
	}
	if s.Arrivals == onceWord && s.Operations == 0 {
		s.Operations = s.Count
	}
	if s.Form == "" {
		s.Form = jitteredTime
	}
	if s.Start == "" && s.Form != jitteredTime && s.Form != jitteredSlip {
		s.Start = together
	}
	return s
}

// onGrid reports whether a periodic client's times are those of a grid.
func (s Clients) onGrid() bool {
	form := s.withDefaults().Form
	return form == jitteredTime || form == jitteredSlip
}

func (s Clients) check(c checker) {
	c.count("count", s.Count, 0, maxClients)
	c.count("operations", s.Operations, 0, maxOperations)
	c.oneOf("arrivals", s.Arrivals, onceWord, steadyWord, poisson, onOff, closedWord, periodicWord)
	c.number("rate", s.Rate, 0, maxRate)
	c.duration("on", s.On, 0, maxHorizon)
	c.duration("off", s.Off, 0, maxHorizon)
	c.duration("think", s.Think, 0, maxHorizon)
	c.duration("period", s.Period, 0, maxHorizon)
	c.oneOf("form", s.Form, fixedPeriod, jitteredPeriod, jitteredTime, jitteredSlip)
	c.oneOf("start", s.Start, together, jittered, scattered)
	c.number("background", s.Background, 0, 1)
	c.duration("timeout", s.Timeout, 0, maxHorizon)
	c.duration("lateness", s.Lateness, 0, time.Minute)
	arrivals := s.withDefaults().Arrivals
	s.checkStart(c, arrivals)
	rated := arrivals == steadyWord || arrivals == poisson || arrivals == onOff
	switch {
	case rated && s.Rate == 0:
		c.fail("rate", "0 is not allowed with arrivals: %s", arrivals)
	case !rated && s.Rate > 0:
		c.fail("rate", "%v is not allowed with arrivals: %s", s.Rate, arrivals)
	}
	if arrivals == onOff && (s.On <= 0 || s.Off <= 0) {
		c.fail("on", "on: %v and off: %v are not allowed, want both longer than 0", s.On, s.Off)
	}
	if arrivals != onOff && s.On >= 0 && s.Off >= 0 {
		c.unused("arrivals: on-off", "on", s.On, "off", s.Off)
	}
	if arrivals != periodicWord {
		return
	}
	_, err := grid.New(epoch, grid.Settings{Period: s.Period})
	c.setting(err, map[string]string{"period": "period"})
	if s.Start != "" && s.onGrid() {
		c.fail("start", "%q is not allowed with form: %s, which has a start of its own", s.Start, s.withDefaults().Form)
	}
}

// checkStart checks what makes some of the operations come later.
func (s Clients) checkStart(c checker, arrivals string) {
	// So that the last one starts within what a horizon may be.
	c.duration("stagger", s.Stagger, 0, maxHorizon/time.Duration(max(s.Count, 1)))
	if s.Stagger > 0 && arrivals != onceWord && arrivals != closedWord {
		c.fail("stagger", "%v is not allowed with arrivals: %s", s.Stagger, arrivals)
	}
	b := c.in("burst")
	b.duration("at", s.Burst.At, 0, maxHorizon)
	b.count("operations", s.Burst.Operations, 0, maxOperations)
	switch {
	case s.Burst.Operations == 0:
		b.unused("operations", "at", s.Burst.At)
	case arrivals == closedWord || arrivals == periodicWord:
		b.fail("operations", "%d is not allowed with arrivals: %s", s.Burst.Operations, arrivals)
	}
}
