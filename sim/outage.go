package sim

import "time"

// Failures makes requests fail at random: "Effects of partial failures" (Safe Client Behaviour).
type Failures struct {
	// Rate is the share of requests that fail, 0 to 1.
	Rate float64 `yaml:"rate"`
	// Overload makes a failure look like a refusal (503). Without it, a failure says
	// nothing about load (500).
	Overload bool `yaml:"overload"`
	// Sticky makes all requests of the same clients fail, that share of them: as
	// when some of the service's machines are down and each client stays with its
	// own. Without it, each request has the same chance.
	Sticky bool `yaml:"sticky"`
	// From and For say when; a For of 0: from From to the end.
	From time.Duration `yaml:"from"`
	For  time.Duration `yaml:"for"`
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
	f := c.in("failures")
	f.number("rate", s.Failures.Rate, 0, 1)
	f.duration("from", s.Failures.From, 0, maxHorizon)
	f.duration("for", s.Failures.For, 0, maxHorizon)
	for i, ch := range s.Capacity {
		c := c.item("capacity", i)
		c.duration("at", ch.At, 0, maxHorizon)
		if i > 0 && ch.At < s.Capacity[i-1].At {
			c.fail("at", "%v is not allowed after %v: changes stand in the order of time", ch.At, s.Capacity[i-1].At)
		}
		c.count("slots", ch.Slots, 0, maxSlots)
		c.number("rate", ch.Rate, 0, maxRate)
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
