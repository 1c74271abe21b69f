package admission

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// Config has the settings of a new Controller. Zero fields take the documented default.
type Config struct {
	// QueueBound is the greatest number of waiting requests: 1 or more; 0 means 64; negative: no request waits.
	QueueBound int
	// QueueTime is the longest wait of a request, after which it is shed: 1 ms to 1 min; 0 means 200 ms.
	QueueTime time.Duration
	// Turn, if it is not nil, decides by the tags which requests do not wait by their criticality. Safe Client
	// Behaviour, on a server that knows its clients: "Avoid dropping requests known to trigger a retry storm",
	// "Work around client bugs". Negative: the request is shed before all others and served after them, for a
	// client with a bug. Positive: the request is shed after all others and served before them, for a client that
	// answers a refusal with a burst of retries. If such a client sends more than the server can serve, only a
	// negative number helps, or a change at the client (package remote). 0: by criticality. If a client may lie,
	// make its tags from its credentials: HandlerConfig.Tags. Several goroutines may call Turn at once.
	Turn func(tag.Tags) int
	// RetryAfterMin and RetryAfterMax bound the mean of the Retry-After of shed requests (see the package's
	// comment): 100 ms <= RetryAfterMin <= RetryAfterMax <= 1 h. 0 means 1 s and 30 s.
	RetryAfterMin, RetryAfterMax time.Duration
	// Rand is the source of jitter, for one Controller alone; nil: one with a random seed.
	Rand *rand.Rand
	// Observer is called once for each request, at its end, by the goroutine or the timer that caused the end. It
	// may call the controller. Several goroutines may call it at once. It should be quick, and must not panic. It
	// may be nil.
	Observer func(Event)
}

func (c Config) withDefaults() (Config, error) {
	// Our choice. A queue is for a burst: no queue helps against an overload that lasts.
	c.QueueBound = max(0, cmp.Or(c.QueueBound, 64))
	// Our choice. HTTP's Retry-After has a grain of a second, and half a minute after an outage all clients are back.
	shortest, longest := min(time.Second, cmp.Or(c.RetryAfterMax, time.Second)), min(max(30*time.Second, c.RetryAfterMin), time.Hour)
	err := cmp.Or(
		// Our choice; a person in front of a screen hardly notices it.
		check.Duration("QueueTime", &c.QueueTime, 200*time.Millisecond, time.Millisecond, time.Minute),
		check.Duration("RetryAfterMax", &c.RetryAfterMax, longest, 100*time.Millisecond, time.Hour),
		check.Duration("RetryAfterMin", &c.RetryAfterMin, shortest, 100*time.Millisecond, c.RetryAfterMax),
	)
	if c.Rand == nil {
		c.Rand = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	return c, err
}

// Limit is the number of requests that are served at a time. It is [Fixed] or [Adaptive]; the zero Limit is an error of
// New.
type Limit struct {
	law      window.NewLaw
	settings window.Settings
	err      error
}

// Fixed is a limit that never changes: 1 to window.MaxWindow requests.
func Fixed(requests int) Limit {
	n := float64(requests)
	if n < window.MinWindow || n > window.MaxWindow {
		return Limit{err: check.Wrong("Fixed", requests, "a number from %d to %d", window.MinWindow, window.MaxWindow)}
	}
	return Limit{law: func(window.Settings) window.Law { return constant{} }, settings: window.Settings{Initial: n, Min: n, Max: n}}
}

// Adaptive is a limit that a law decides, such as aimd.Probe. A success widens the limit while the limit
// is reached, and the first overload of each burst narrows it.
//
// If a load test shows the number of requests that the service serves at a time, use [Fixed] with that number: a
// law finds the number only by exceeding it. In the simulated overloads of TestWhichLawServes, aimd.Probe serves
// 0.2 to 1 of the best fixed limit's requests in time. Reno with a factor of 0.5 serves 0.2 to 0.85.
//
// If the number is unknown or changes, use aimd.Probe. Count an answer that takes too long as a Timeout
// ([NewHandler] and contrib/grpclimit have a setting). Set Min, so that a short overload does not shut out most
// clients, and Max, so that the requests fit into memory.
func Adaptive(law window.NewLaw, s window.Settings) Limit {
	if law == nil {
		return Limit{err: check.Nil("law")}
	}
	return Limit{law: law, settings: s}
}

func (l Limit) gate(r *rand.Rand) (limiter.Gate, error) {
	switch {
	case l.err != nil:
		return limiter.Gate{}, l.err
	case l.law == nil:
		return limiter.Gate{}, check.Wrong("Limit", "the zero Limit", "Fixed or Adaptive")
	}
	// A server has no other pause than the gap of the law.
	return limiter.NewGate(l.law, limiter.Settings{Window: l.settings, PauseMax: -1, Rand: r})
}

type constant struct{}

func (constant) Answered(_ time.Duration, s window.State, _ window.End) window.State { return s }

func (constant) Timed() bool { return false }
