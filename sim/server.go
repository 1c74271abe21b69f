package sim

import (
	"math"
	"time"
)

// Server is the service. Its parts work together, each only if it is set: a
// request passes the connection, meets an outage or a failure, then the rate
// limit, then the medium, then finds a slot or a place in the queue, and is
// served in a time that may depend on the load. The zero value serves anything
// at once.
type Server struct {
	// Connect is how long a request is under way before it reaches the server.
	// It holds no slot meanwhile. An answer takes no time.
	Connect time.Duration `yaml:"connect"`
	// ConnectSpread is how that time varies; the zero value: not at all.
	ConnectSpread Spread `yaml:"connect_spread"`
	// Service is the mean time to serve one request; 0: none.
	Service time.Duration `yaml:"service"`
	// Blocks gives blocks of operations another service time.
	Blocks Blocks `yaml:"blocks"`
	// Spread is how the service time varies; the zero value: not at all.
	Spread Spread `yaml:"spread"`
	// Slots is how many requests are served at a time: a concurrency cap, or
	// workers if there is a queue. 0: no bound.
	Slots int `yaml:"slots"`
	// Queue is how many requests may wait, first in first out, for a slot; more
	// are refused. 0: none waits. It needs Slots.
	Queue int `yaml:"queue"`
	// Reserve is the share of the slots that background work does not get, 0 to 1; 0:
	// none. It needs Slots, and no Queue.
	Reserve float64 `yaml:"reserve"`
	// Refusal is what a refused request costs.
	Refusal Refusal `yaml:"refusal"`
	// Rate limits the rate of requests.
	Rate Rate `yaml:"rate"`
	// Slowdown makes the service time grow with the concurrency, exponentially.
	Slowdown Slowdown `yaml:"slowdown"`
	// Knee makes the service time grow with the concurrency, linearly.
	Knee Knee `yaml:"knee"`
	// Medium makes requests that are too many at once destroy each other.
	Medium Medium `yaml:"medium"`
	// Failures makes some of the requests fail.
	Failures Failures `yaml:"failures"`
	// Capacity changes slots and rate as time goes by. In the order of At.
	Capacity []Change `yaml:"capacity"`
	// Outages are when the server is down. In the order of From, and one ends
	// before the next begins.
	Outages []Outage `yaml:"outages"`
}

// Blocks are operations that differ in size: each second block of Operations operations,
// in the order of their birth, takes another service time.
type Blocks struct {
	// Operations is the length of a block; 0: all operations are alike.
	Operations int `yaml:"operations"`
	// Service is the mean service time in the second block, the fourth, and so on.
	Service time.Duration `yaml:"service"`
}

// large reports whether the nth operation takes Blocks.Service.
func (b Blocks) large(n int) bool { return b.Operations > 0 && n/b.Operations%2 == 1 }

func (b Blocks) check(c checker) {
	c.count("operations", b.Operations, 0, maxOperations)
	c.duration("service", b.Service, 0, maxHorizon)
	if b.Operations == 0 {
		c.unused("operations", "service", b.Service)
	}
}

// The words of Spread.Kind, which says what they mean.
const (
	constantWord    = "constant"
	uniformWord     = "uniform"
	exponentialWord = "exponential"
	lognormalWord   = "lognormal"
)

// Spread is how a time varies around its mean.
type Spread struct {
	// Kind is "constant", no spread at all, the default; "uniform", mean * U(1-Width,
	// 1+Width); "exponential", that of a memoryless service; or "lognormal", with a long
	// tail: the logarithm has standard deviation Width.
	Kind string `yaml:"kind"`
	// Width is, for "uniform", 0 to 1; for "lognormal", 0 to 3. 0 means 0.5. The others
	// have none.
	Width float64 `yaml:"width"`
}

// Refusal is what a refused request costs, and what it is told.
type Refusal struct {
	// Time is from the arrival of a request at the server to its refusal, and to any
	// other answer that is an error.
	Time time.Duration `yaml:"time"`
	// Spread is how that time varies; the zero value: not at all.
	Spread Spread `yaml:"spread"`
	// Busy makes a refusal count as busy, in the place of a slot, while it lasts:
	// "error responses keep the server busy for a brief period of time" (Improve on exponential backoff).
	Busy bool `yaml:"busy"`
	// RetryAfter is told with each refusal; 0: nothing is told.
	RetryAfter time.Duration `yaml:"retry_after"`
	// RetryAfterJitter is a random time up to this, added to each Retry-After:
	// "Make sure to jitter retry periods on the server side" (Safe Client Behaviour).
	RetryAfterJitter time.Duration `yaml:"retry_after_jitter"`
}

// Rate is a token bucket or, with a Window, a sliding window. A request that is too
// much is refused (429).
type Rate struct {
	// PerSecond is how many requests a second are let through: so many tokens
	// are added to the bucket. 0: there is no limit.
	PerSecond float64 `yaml:"per_second"`
	// Burst is the most tokens in the bucket, and those at the start, from 1; 0
	// means 1. Of a bucket.
	Burst float64 `yaml:"burst"`
	// Window makes a sliding window of the bucket: in any time of this length
	// at most PerSecond times Window are let through, at any moment of it. 0: it is a
	// bucket. Such limits are often of a second, as haproxy's and those of APIs.
	Window time.Duration `yaml:"window"`
	// CountRefused makes refused requests count as well: they take tokens, so that
	// the bucket is in debt, by up to a Burst, or a place in the window. Some gateways
	// do: a client that goes on asking gets nothing ever again.
	CountRefused bool `yaml:"count_refused"`
}

// Slowdown is the server of How not to crash a server: "up to a certain limit of the number of
// simultaneous requests, the server responds with a fixed delay, and then the
// response time begins to increase exponentially":
//
//	minDelay * factor ^ ((concurrency - concurrencyLimit) / K)
//
// minDelay is Server.Service, without spread. The time is looked at anew
// whenever the concurrency changes: a request is answered once it is as old as
// that. Work that a client gave up stays until it is served.
type Slowdown struct {
	// Limit is the concurrency without slowdown, from 1; 0: no slowdown.
	Limit int `yaml:"limit"`
	// Factor is the base of the growth, more than 1 to 1000; 0 means 1.05, that
	// of the text's program.
	Factor float64 `yaml:"factor"`
	// Scale is K: the factor applies once for so many requests; 0 means 15, that
	// of the text's program.
	Scale float64 `yaml:"scale"`
	// Max is the longest time, so that it cannot overflow; 0 means 24 h.
	Max time.Duration `yaml:"max"`
}

// Knee is a server that takes more requests than it has workers: they share what there
// is, and everything gets slower.
type Knee struct {
	// At is the concurrency up to which the service time stays, from 1; 0: no knee.
	At int `yaml:"at"`
	// Slope is how fast it grows from there: at concurrency c everything takes
	// 1 + Slope * (c - At) / At times as long. At 1, the default, the throughput
	// stays at its best; above, it falls: the server thrashes. 0 to 100; 0 means 1.
	Slope float64 `yaml:"slope"`
}

// Medium is something that all requests share and that too many of them bring
// down: the file descriptors of the machine that jobs are submitted to (Exponential Backoff in Distributed Systems),
// or the cable of an Ethernet with one place.
type Medium struct {
	// Places is how many requests it carries at a time, from 1; 0: there is no
	// medium. One more is a collision: it and all that were there fail.
	Places int `yaml:"places"`
	// Jam is for how long nothing gets through after a collision.
	Jam time.Duration `yaml:"jam"`
}

func (s Server) withDefaults() Server {
	for _, spread := range []*Spread{&s.Spread, &s.ConnectSpread, &s.Refusal.Spread} {
		*spread = spread.withDefaults()
	}
	s.Rate.Burst = max(s.Rate.Burst, 1)
	if s.Slowdown.Factor == 0 {
		s.Slowdown.Factor = 1.05
	}
	if s.Slowdown.Scale == 0 {
		s.Slowdown.Scale = 15
	}
	if s.Slowdown.Max == 0 {
		s.Slowdown.Max = 24 * time.Hour
	}
	if s.Knee.Slope == 0 {
		s.Knee.Slope = 1
	}
	return s
}

func (s Server) check(c checker) {
	c.duration("connect", s.Connect, 0, maxHorizon)
	c.duration("service", s.Service, 0, maxHorizon)
	s.ConnectSpread.check(c.in("connect_spread"))
	s.Blocks.check(c.in("blocks"))
	s.Spread.check(c.in("spread"))
	c.count("slots", s.Slots, 0, maxSlots)
	c.count("queue", s.Queue, 0, maxSlots)
	if s.Queue > 0 && s.Slots == 0 {
		c.fail("queue", "%d is not allowed without slots, for which to wait", s.Queue)
	}
	s.checkReserve(c)
	r := c.in("refusal")
	r.duration("time", s.Refusal.Time, 0, maxHorizon)
	s.Refusal.Spread.check(r.in("spread"))
	r.duration("retry_after", s.Refusal.RetryAfter, 0, maxHorizon)
	r.duration("retry_after_jitter", s.Refusal.RetryAfterJitter, 0, maxHorizon)
	s.checkLoad(c)
	s.checkTimes(c)
}

// checkLoad checks what depends on the load.
func (s Server) checkLoad(c checker) {
	r := c.in("rate")
	r.number("per_second", s.Rate.PerSecond, 0, maxRate)
	if s.Rate.Burst != 0 {
		r.number("burst", s.Rate.Burst, 1, maxRate)
	}
	r.duration("window", s.Rate.Window, 0, time.Hour)
	switch most := s.Rate.PerSecond * s.Rate.Window.Seconds(); {
	case s.Rate.Window <= 0:
	case s.Rate.PerSecond == 0:
		r.unused("per_second", "window", s.Rate.Window)
	case s.Rate.Burst > 1:
		r.fail("burst", "%v is not allowed with a window, which has no bucket", s.Rate.Burst)
	case most < 1 || most > maxSlots:
		r.fail("window", "%v is not allowed with %v per second, want one in which there are 1 to %d requests", s.Rate.Window, s.Rate.PerSecond, maxSlots)
	}
	d := c.in("slowdown")
	d.count("limit", s.Slowdown.Limit, 0, maxSlots)
	if f := s.Slowdown.Factor; f != 0 && !(f > 1 && f <= 1000) {
		d.fail("factor", "%v is not allowed, want a number greater than 1, to 1000", f)
	}
	if s.Slowdown.Scale != 0 {
		d.number("scale", s.Slowdown.Scale, 0.01, 1e6)
	}
	d.duration("max", s.Slowdown.Max, 0, maxDuration)
	if s.Slowdown.Limit > 0 {
		if s.Spread.Kind != "" && s.Spread.Kind != constantWord {
			d.fail("limit", "%d is not allowed with a spread: a slowdown makes every request wait equally long", s.Slowdown.Limit)
		}
		if s.Blocks.Operations > 0 {
			d.fail("limit", "%d is not allowed with blocks: a slowdown has one time for all requests", s.Slowdown.Limit)
		}
		if s.Knee.At > 0 {
			d.fail("limit", "%d is not allowed with a knee: choose one of them", s.Slowdown.Limit)
		}
	}
	k := c.in("knee")
	k.count("at", s.Knee.At, 0, maxSlots)
	k.number("slope", s.Knee.Slope, 0, 100)
	m := c.in("medium")
	m.count("places", s.Medium.Places, 0, maxSlots)
	m.duration("jam", s.Medium.Jam, 0, maxHorizon)
}

func (s Spread) withDefaults() Spread {
	if s.Kind == "" {
		s.Kind = constantWord
	}
	if s.Width == 0 && (s.Kind == uniformWord || s.Kind == lognormalWord) {
		s.Width = 0.5
	}
	return s
}

func (s Spread) check(c checker) {
	c.oneOf("kind", s.Kind, constantWord, uniformWord, exponentialWord, lognormalWord)
	switch s.Kind {
	case lognormalWord:
		c.number("width", s.Width, 0, 3)
	case uniformWord:
		c.number("width", s.Width, 0, 1)
	default:
		if s.Width != 0 || math.IsNaN(s.Width) {
			c.fail("width", "%v is not allowed, only a uniform or lognormal spread has a width", s.Width)
		}
	}
}
