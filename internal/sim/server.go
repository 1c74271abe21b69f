package sim

import (
	"cmp"
	"math"
	"time"

	"github.com/aimd-go/aimd/answer"
)

// Server is the service. Each part works if it is set; the zero value serves every request at once. The
// package's figure has the order in which a request meets the parts.
type Server struct {
	// Connect is the time that a request travels to the server, without a slot. Answers take no time.
	Connect time.Duration `yaml:"connect"`
	// ConnectSpread is the spread of Connect.
	ConnectSpread Spread `yaml:"connect_spread"`
	// Service is the mean time to serve one request.
	Service time.Duration `yaml:"service"`
	// Blocks gives blocks of operations another service time.
	Blocks Blocks `yaml:"blocks"`
	// Spread is the spread of the service time.
	Spread Spread `yaml:"spread"`
	// Slots is the number of requests that are served at a time; 0: no bound.
	Slots int `yaml:"slots"`
	// Queue is the number of requests that may wait for a slot, first in first out. Further requests are refused.
	Queue int `yaml:"queue"`
	// Reserve is the share of the slots that background work does not get, without a Queue.
	Reserve float64 `yaml:"reserve" in:"0..1"`
	// Refusal is the cost of a refused request.
	Refusal Refusal `yaml:"refusal"`
	// Rate limits the rate of requests.
	Rate Rate `yaml:"rate"`
	// Block refuses every request for a time after an excess.
	Block Block `yaml:"block"`
	// Quotas are the quotas that the service reports in its answers; a request spends every quota.
	Quotas []Quota `yaml:"quotas"`
	// Knee makes the service time grow with the concurrency.
	Knee Knee `yaml:"knee"`
	// Jam is the time of a collision, as on a shared cable (Exponential Backoff in Distributed Systems): a request
	// beyond the Slots destroys all requests in service, and every request fails for that time. 0: only that
	// request is refused.
	Jam time.Duration `yaml:"jam"`
	// Failures makes requests fail at any load.
	Failures Failures `yaml:"failures"`
	// Capacity changes the server as time passes, in the order of the times.
	Capacity []Change `yaml:"capacity"`
	// Outages are times when the server is down, in their order. They do not overlap.
	Outages []Outage `yaml:"outages"`
}

// Blocks are operations of two sizes: every second block, in the order of birth, has another service time.
type Blocks struct {
	// Operations is the length of a block; 0: all operations are alike.
	Operations int `yaml:"operations"`
	// Service is the mean service time in the second block, the fourth, and so on.
	Service time.Duration `yaml:"service"`
}

func (b Blocks) large(n int) bool { return b.Operations > 0 && n/b.Operations%2 == 1 }

// The words of Spread.Kind.
const (
	constantWord    = "constant"
	uniformWord     = "uniform"
	exponentialWord = "exponential"
	lognormalWord   = "lognormal"
)

// Spread is the distribution of a time around its mean.
type Spread struct {
	// Kind is "constant" by default, "uniform" over mean * (1 +- Width), "exponential", or "lognormal" with
	// Width as the standard deviation of the logarithm.
	Kind string `yaml:"kind" in:"constant|uniform|exponential|lognormal"`
	// Width is 0 to 1 for "uniform" and 0 to 3 for "lognormal"; 0 means 0.5. Other kinds ignore it.
	Width float64 `yaml:"width"`
}

// Refusal is the cost of a refused request, and its Retry-After.
type Refusal struct {
	// Time is the time from the arrival of a request to its refusal, or to any other error.
	Time time.Duration `yaml:"time"`
	// Spread is the spread of Time.
	Spread Spread `yaml:"spread"`
	// Busy makes a refusal occupy a slot while it lasts (Improve on exponential backoff).
	Busy bool `yaml:"busy"`
	// RetryAfter comes with each refusal; 0: no refusal has one.
	RetryAfter time.Duration `yaml:"retry_after"`
	// RetryAfterJitter is the most that is added to each RetryAfter, at random (Safe Client Behaviour).
	RetryAfterJitter time.Duration `yaml:"retry_after_jitter"`
}

// Rate is a token bucket or, with a Window, a sliding window. Requests beyond it are refused.
type Rate struct {
	// PerSecond is the number of requests a second that pass; 0: no limit.
	PerSecond float64 `yaml:"per_second" in:"0..1e7"`
	// Burst is the size of the bucket in tokens, and its content at the start; 0 means 1.
	Burst float64 `yaml:"burst" in:"1..1e7"`
	// Window is the length of a sliding window, in which PerSecond * Window requests pass; 0: a bucket.
	Window time.Duration `yaml:"window" in:"0..1h"`
	// CountRefused makes refused requests take a place in the window, or tokens down to -Burst.
	CountRefused bool `yaml:"count_refused"`
	// NoDebt lets refused requests take tokens down to 0 only.
	NoDebt bool `yaml:"no_debt"`
}

// Quota is an amount that all clients together may spend in a time. Each answer reports the rest, and when
// the quota is whole again. A request beyond the quota is refused.
type Quota struct {
	// Limit is the whole quota, more than 0.
	Limit float64 `yaml:"limit" in:"1..1e12"`
	// Per is the time in which the quota comes back: it is whole again at each multiple of Per.
	Per time.Duration `yaml:"per" in:"1ms..720h"`
	// Bucket lets the quota come back at a steady rate instead; its reset is the time when it is full.
	Bucket bool `yaml:"bucket"`
	// Slice also bounds each slice of Per to its part, which no answer reports; 0: no slices.
	Slice time.Duration `yaml:"slice"`
	// Cost is the mean amount that a request spends. The amount is U(0.1, 1.9) times the mean. 0: always 1.
	Cost float64 `yaml:"cost" in:"0..1e9"`
	// Report is the truth of the reports: "true", the default; "rounded", the reset is in whole seconds; "full",
	// the whole quota is always left; "empty", the rest is always 0; "refusals", only refusals have a report;
	// "none", answers have no report.
	Report string `yaml:"report" in:"true|rounded|full|empty|refusals|none"`
	// Reports is used instead of Report if it is not nil: it returns the report of an answer, and false if
	// the answer has none.
	Reports func(truth answer.Quota, refused bool) (answer.Quota, bool) `yaml:"-"`
}

func (q Quota) perSecond() float64 { return q.Limit / q.Per.Seconds() }

// Knee is a server whose requests share its workers: beyond At each request gets slower, linearly or, with a
// Factor, exponentially. Requests that a client gave up stay until they are served.
type Knee struct {
	// At is the concurrency up to which the service time is constant; 0: no knee.
	At int `yaml:"at"`
	// Slope is the linear growth: at concurrency c a request takes 1 + Slope * (c - At) / At times as long. With 1, the
	// default, the throughput stays at its best. Above 1 it falls.
	Slope float64 `yaml:"slope" in:"0..100"`
	// Factor is the base of the growth of How not to crash a server: at concurrency c a request takes Server.Service *
	// Factor ^ ((c - At) / Scale), without spread, and at most 24 h. It is answered once it is as old as that time at the
	// present concurrency. 0: the growth is linear.
	Factor float64 `yaml:"factor" in:"1.0001..1000"`
	// Scale is the number of further requests for which Factor applies once (K); 0 means 15, as in the text.
	Scale float64 `yaml:"scale" in:"0.01..1e6"`
}

func (k Knee) steep() bool { return k.At > 0 && k.Factor > 0 }

// Failures makes requests fail at any load (Safe Client Behaviour): a request fails by Rate, Every, First or Rest.
type Failures struct {
	// Rate is the share of requests that fail at random.
	Rate float64 `yaml:"rate" in:"0..1"`
	// Every makes each request fail whose number at the server is a multiple of Every; 0: no request.
	Every int `yaml:"every"`
	// First is the number of attempts of each operation that fail before an attempt may succeed.
	First int `yaml:"first"`
	// Rest makes a request fail if it comes later than this after the request before; 0: no request.
	Rest time.Duration `yaml:"rest"`
	// Overload makes a failure look like a refusal (503) instead of an error (500).
	Overload bool `yaml:"overload"`
	// Sticky makes all requests of a share of the clients fail, instead of a share of all requests.
	Sticky bool `yaml:"sticky"`
	// Lost makes a request that fails vanish, so that its client needs a Timeout.
	Lost bool `yaml:"lost"`
	// From is the time when requests begin to fail.
	From time.Duration `yaml:"from"`
	// For is the time for which they fail; 0: to the end.
	For time.Duration `yaml:"for"`
	// Period repeats the failures, and is longer than For; 0: they come once.
	Period time.Duration `yaml:"period"`
}

func (f Failures) at(now time.Duration) bool {
	since := now - f.From
	if f.Period > 0 && since > 0 {
		since %= f.Period
	}
	return since >= 0 && (f.For == 0 || since < f.For)
}

// Change is a new capacity from a time on; zero fields change nothing.
type Change struct {
	// At is the time of the change.
	At time.Duration `yaml:"at"`
	// Slots replaces Server.Slots. Requests in service stay there.
	Slots int `yaml:"slots"`
	// Service replaces Server.Service for requests whose service begins later.
	Service time.Duration `yaml:"service"`
}

// The words of Outage.Kind.
const (
	errorsWord = "errors"
	silentWord = "silent"
	lostWord   = "lost"
)

// Outage is a time in which the server is down: from From on, for the time For.
type Outage struct {
	// From is the time when it begins.
	From time.Duration `yaml:"from"`
	// For is its length.
	For time.Duration `yaml:"for" in:"1ns..720h"`
	// Kind is "errors" by default: every request is refused. "silent": the process stops, and continues with its
	// requests afterwards. "lost": requests and answers vanish.
	Kind string `yaml:"kind" in:"errors|silent|lost"`
	// Backlog is the number of requests that the kernel keeps for a process in a "silent" outage, even if their
	// clients no longer wait. Later requests are kept while their clients wait. 0: no bound.
	Backlog int `yaml:"backlog"`
	// RetryAfter makes refusals of an "errors" outage say when it ends.
	RetryAfter bool `yaml:"retry_after"`
}

func (o Outage) end() time.Duration { return o.From + o.For }

func (s Server) withDefaults() Server {
	for _, spread := range []*Spread{&s.Spread, &s.ConnectSpread, &s.Refusal.Spread} {
		spread.Kind = cmp.Or(spread.Kind, constantWord)
		if spread.Kind == uniformWord || spread.Kind == lognormalWord {
			spread.Width = cmp.Or(spread.Width, 0.5)
		}
	}
	s.Rate.Burst = max(s.Rate.Burst, 1)
	switch {
	case s.Knee.steep():
		s.Knee.Scale = cmp.Or(s.Knee.Scale, 15)
	case s.Knee.At > 0:
		s.Knee.Slope = cmp.Or(s.Knee.Slope, 1)
	}
	return s
}

// lastChange is the time when the capacity last changed or an outage last ended before the end of a run, and false if
// neither did.
func (s Server) lastChange(end time.Duration) (at time.Duration, changed bool) {
	for _, c := range s.Capacity {
		if c.At < end {
			at, changed = max(at, c.At), true
		}
	}
	for _, o := range s.Outages {
		if o.end() < end {
			at, changed = max(at, o.end()), true
		}
	}
	return at, changed
}

// throughput is the operations a second that the server can serve at that time, at its best concurrency;
// +Inf: no bound.
func (s Server) throughput(at time.Duration) float64 {
	s = s.withDefaults()
	slots, service := s.Slots, s.Service
	for _, c := range s.Capacity {
		if c.At <= at {
			slots, service = cmp.Or(c.Slots, slots), cmp.Or(c.Service, service)
		}
	}
	most := math.Inf(1)
	if s.Rate.PerSecond > 0 {
		most = s.Rate.PerSecond
	}
	for _, q := range s.Quotas {
		most = min(most, q.perSecond()/max(q.Cost, 1))
	}
	if b := s.Block; b.For > 0 && !b.Refused {
		most = min(most, float64(b.Requests))
	}
	if s.Blocks.Operations > 0 {
		service = (service + s.Blocks.Service) / 2
	}
	if service == 0 {
		return most
	}
	best := s.Knee.bestConcurrency()
	if slots > 0 {
		best = min(best, float64(slots))
	}
	return min(most, s.Knee.served(best)/service.Seconds())
}

// capacity is the number of operations that can be served in that time, 0: no bound.
func (s Server) capacity(from, to time.Duration) float64 {
	sum := 0.0
	for at := from; at < to; {
		next := to
		for _, c := range s.Capacity {
			if c.At > at {
				next = min(next, c.At)
			}
		}
		sum += float64(s.throughput(at) * (next - at).Seconds())
		at = next
	}
	if math.IsInf(sum, 1) {
		return 0
	}
	return sum
}

// bestConcurrency is the concurrency with the highest throughput; +Inf: the more the better. With a Factor,
// c/delay(c) has its maximum at Scale/ln(Factor), unless the knee is beyond that. With a Slope, c/stretch(c)
// grows for ever if that is less than 1, and falls from At on if it is more than 1.
func (k Knee) bestConcurrency() float64 {
	switch {
	case k.steep():
		peak := k.Scale / logarithm(k.Factor)
		best := max(1, math.Floor(peak))
		if k.served(best+1) > k.served(best) {
			best++
		}
		return max(best, float64(k.At))
	case k.At > 0 && k.Slope >= 1:
		return float64(k.At)
	}
	return math.Inf(1)
}

// served is the number of requests that are served in one Service time at that concurrency.
func (k Knee) served(concurrency float64) float64 {
	switch over := concurrency - float64(k.At); {
	case k.At == 0 || over <= 0:
		return concurrency
	case k.steep():
		return concurrency * exponential(-over*logarithm(k.Factor)/k.Scale)
	case math.IsInf(concurrency, 1):
		return float64(k.At) / k.Slope
	default:
		return concurrency / k.stretch(concurrency)
	}
}

// stretch is the factor of all times at that concurrency, of a knee with a Slope.
func (k Knee) stretch(concurrency float64) float64 {
	at := float64(k.At)
	return 1 + float64(k.Slope*max(0, concurrency-at)/at)
}
