package sim

import "time"

// Failures makes requests fail whatever the load: "Effects of partial failures" (Safe
// Client Behaviour). A request fails if Rate, Every, First or Rest makes it fail.
type Failures struct {
	// Rate is the share of requests that fail at random, 0 to 1.
	Rate float64 `yaml:"rate"`
	// Every makes each request fail whose number at the server is a multiple of Every: 3
	// for each third request; 0: no request fails for its number.
	Every int `yaml:"every"`
	// First is how many attempts of each operation fail before one may succeed.
	First int `yaml:"first"`
	// Rest makes a request fail that comes later than this after the request before it,
	// as at a service that stops if no client asks; 0: a rest does not matter.
	Rest time.Duration `yaml:"rest"`
	// Overload makes a failure look like a refusal (503). Without it, a failure says
	// nothing about load (500).
	Overload bool `yaml:"overload"`
	// Sticky makes all requests of the same clients fail, that share of them: as
	// when some of the service's machines are down and each client stays with its
	// own. Without it, each request has the same chance.
	Sticky bool `yaml:"sticky"`
	// Lost makes a request that fails vanish: the client never gets an answer, and needs a
	// Timeout.
	Lost bool `yaml:"lost"`
	// From and For say when requests fail; a For of 0: from From to the end.
	From time.Duration `yaml:"from"`
	For  time.Duration `yaml:"for"`
	// Period repeats the time of From and For each Period, longer than For; 0: requests
	// fail once for that time.
	Period time.Duration `yaml:"period"`
}

// at reports whether requests may fail at that time.
func (f Failures) at(now time.Duration) bool {
	since := now - f.From
	if f.Period > 0 && since > 0 {
		since %= f.Period
	}
	return since >= 0 && (f.For == 0 || since < f.For)
}

func (f Failures) check(c checker) {
	c.number("rate", f.Rate, 0, 1)
	c.count("every", f.Every, 0, maxOperations)
	c.count("first", f.First, 0, maxOperations)
	c.duration("rest", f.Rest, 0, maxHorizon)
	c.duration("from", f.From, 0, maxHorizon)
	c.duration("for", f.For, 0, maxHorizon)
	c.duration("period", f.Period, 0, maxHorizon)
	if f.Period > 0 && (f.For == 0 || f.For >= f.Period) {
		c.fail("period", "%v is not allowed with for: %v, want a for that is longer than 0 and shorter than the period", f.Period, f.For)
	}
}

// Change is a new capacity from some time on.
type Change struct {
	// At is when.
	At time.Duration `yaml:"at"`
	// Slots is in the place of Server.Slots; 0: no change. What is being served
	// goes on.
	Slots int `yaml:"slots"`
	// Rate is in the place of Server.Rate.PerSecond; 0: no change.
	Rate float64 `yaml:"rate"`
	// Service is in the place of Server.Service for requests whose service begins later; 0:
	// no change.
	Service time.Duration `yaml:"service"`
}

// The words of Outage.Kind, which says what they mean.
const (
	errorsWord = "errors"
	silentWord = "silent"
	lostWord   = "lost"
)

// Outage is a time in which the server is down.
type Outage struct {
	// From is when it begins.
	From time.Duration `yaml:"from"`
	// For is how long it lasts, more than 0.
	For time.Duration `yaml:"for"`
	// Kind is "errors", every request is refused, fast, the default; "silent", nothing is
	// answered: the process has stopped, and what was sent is still there when it continues;
	// or "lost", what is sent vanishes, and so does what the server answers: the network is
	// down, the server goes on with what it has, and clients need a Timeout.
	Kind string `yaml:"kind"`
	// Backlog is how many requests the kernel takes in for a process that is stopped by a
	// "silent" outage. These are there when it continues, still waited for or not; of the
	// rest only those that are, since their clients go on trying to connect. 0: no bound.
	Backlog int `yaml:"backlog"`
	// RetryAfter makes refusals of an "errors" outage tell when it ends.
	// Refusal.RetryAfterJitter is added.
	RetryAfter bool `yaml:"retry_after"`
}

func (o Outage) end() time.Duration { return o.From + o.For }

// checkTimes checks what depends on the time.
func (s Server) checkTimes(c checker) {
	s.Failures.check(c.in("failures"))
	for i, ch := range s.Capacity {
		c := c.item("capacity", i)
		c.duration("at", ch.At, 0, maxHorizon)
		if i > 0 && ch.At < s.Capacity[i-1].At {
			c.fail("at", "%v is not allowed after %v: changes stand in the order of time", ch.At, s.Capacity[i-1].At)
		}
		c.count("slots", ch.Slots, 0, maxSlots)
		c.number("rate", ch.Rate, 0, maxRate)
		c.duration("service", ch.Service, 0, maxHorizon)
		if ch.Service > 0 && s.Slowdown.Limit > 0 {
			c.fail("service", "%v is not allowed with a slowdown, which has one time for all requests", ch.Service)
		}
		if ch.Slots > 0 && s.Slots == 0 {
			c.fail("slots", "%d is not allowed where the server has no slots", ch.Slots)
		}
		if ch.Rate > 0 && s.Rate.PerSecond == 0 {
			c.fail("rate", "%v is not allowed where the server has no rate", ch.Rate)
		}
	}
	for i, o := range s.Outages {
		c := c.item("outages", i)
		c.duration("from", o.From, 0, maxHorizon)
		c.duration("for", o.For, 1, maxHorizon)
		if i > 0 && o.From < s.Outages[i-1].end() {
			c.fail("from", "%v is not allowed, the outage before ends at %v", o.From, s.Outages[i-1].end())
		}
		c.oneOf("kind", o.Kind, errorsWord, silentWord, lostWord)
		c.count("backlog", o.Backlog, 0, maxSlots)
	}
}
