package sim

import "time"

// Failures makes requests fail at random: "Effects of partial failures" (Safe Client Behaviour).
type Failures struct {
	// Rate is the share of requests that fail, 0 to 1.
	Rate float64 `yaml:"rate"`
	// Overload makes a failure look like a refusal (503). Without, it says
	// nothing about load (500).
	Overload bool `yaml:"overload"`
	// Sticky makes all requests of the same clients fail, that share of them: as
	// when some of the service's machines are down and each client stays with its
	// own. Without, each request has the same chance.
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

// The kinds of Outage.Kind.
const (
	// errorsWord: every request is refused, fast. The default.
	errorsWord = "errors"
	// silentWord: nothing is answered. The process has stopped, and what was sent is
	// still there when it continues.
	silentWord = "silent"
	// lostWord: what is sent vanishes, and so does what the server answers: the network
	// is down. The server goes on with what it has. Clients need a Timeout.
	lostWord = "lost"
)

// Outage is a time in which the server is down.
type Outage struct {
	// From is when it begins.
	From time.Duration `yaml:"from"`
	// For is how long it lasts, more than 0.
	For time.Duration `yaml:"for"`
	// Kind is Errors, silentWord or Lost; "" means Errors.
	Kind string `yaml:"kind"`
	// Backlog is how many requests a stopped process's kernel takes in for it in a
	// silentWord outage. These are there when it continues, whether anybody still
	// waits for them or not; of those beyond, only they that are still waited for,
	// since their clients go on knocking. 0: no bound.
	Backlog int `yaml:"backlog"`
	// RetryAfter makes refusals of an Errors outage tell when it ends.
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
