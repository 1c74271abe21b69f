package limiter

import (
	"math"
	"time"

	"github.com/aimd-go/aimd/window"
)

const (
	// asideAt is the weight of failures from which an operation is aside: six refusals in a row, or one failure of another kind.
	asideAt = 6
	// outage is the number of operations that fail at first, one after another, and are an outage. With 5 the last bad items of a
	// list are an outage for ever.
	outage = 3
	// firsts is the length of the mean over the first attempts of operations, agains that over the retries of operations that ended
	// well. With 32 for firsts a block of 5 bad items takes a pool 141 s for 45.
	firsts, agains = 64, 32
	// A run of own failures is final if it is one in 2^18 by chance. A failure weighs 3 bits at most: seven tries up to
	// one operation in eight that fails, nine at one in five. With 20 bits a block of bad items takes a pool four times as
	// long.
	chance, mostBits = 18, 3
	// A time-out weighs half as much, and nothing if more than one operation in eight, or such a retry, fails: it may be a refusal.
	// With the whole weight, or at any share, slow buckets that answer 504 lose 1 to 7 operations of 300.
	slowness = 2
	// No run is final in the first 30 s of own failures, since a part of the service fails over; after a minute without one another
	// failover may begin. With 15 s keys that fail for 30 s are lost.
	failover, quiet = 30 * time.Second, time.Minute
	// Operations aside get one turn in 8 at least, and one in 2 at most: half as many more as there are operations that
	// fail at first.
	rareTurn, oftenTurn, turnRoom = 8, 2, 1.5
)

// Run is a gate's record of an operation that failed: its failures in a row. The zero Run has no
// failures. Keep it as long as the operation tries, and give it to one gate.
type Run struct {
	// Patient: nobody waits for the operation, so it is given more time: an item of aimd.Each. Set it before Ends and Gate.Waits.
	Patient bool

	weight int
	// again: it failed when it was aside.
	again bool
	// tries is the number of its failures that may be final, finals the number that are its own; own counts own
	// refusals, too.
	tries, finals, own int
	// bits is how unlikely its own failures are by chance. alone: the latest is its own.
	bits  float64
	alone bool
	// sure: its failures are final; long: and for so long that nobody would wait.
	sure, long bool
	// first is the number of its first attempt that failed, since the time of the failure.
	first uint64
	since time.Duration
}

// Aside reports whether the operation waits in a second queue, and whether it goes first there, since it failed there before: an
// operation that fails twice and then succeeds is done soon.
func (r *Run) Aside() (aside, first bool) { return r.weight >= asideAt, r.again }

// Own is the number of its failures while the service took others.
func (r *Run) Own() int { return r.own }

// Ends reports whether another attempt is of no use.
func (r *Run) Ends() bool { return r.sure && (r.long || !r.Patient) }

// faults is a gate's record of the failures of all operations.
type faults struct {
	// down counts the operations that failed at their first attempt since the latest accepted answer. proof is the number of the
	// attempt sent last when that came.
	down  int
	proof uint64
	// firsts is the share of failures among the latest first attempts of operations, again that among the retries of operations
	// that ended well: a retry comes when all slots are taken, a worker's first attempt takes the slot that it has just left.
	firsts, again float64
	// begun is the time of the first own failure after a time without, latest the time of the latest.
	begun, latest time.Duration
}

// Failed notes a failure of an operation that may be tried again, before Heard and Answered. o is its outcome. final:
// such a failure may end the operation, for it is no refusal. flow is the number of waiting operations that are not
// aside.
//
// It is the operation's own, if another was accepted since the operation's first failed attempt was sent, unless it is an outage:
// three operations failed at first since the last answer that was accepted. What failed by itself before is no outage.
func (g *Gate) Failed(now time.Duration, t window.Ticket, r *Run, o window.Outcome, final bool, flow int) {
	f := &g.faults
	now = g.seen(now)
	r.again, _ = r.Aside()
	if r.first == 0 {
		f.down++
		f.firsts += (1 - f.firsts) / firsts
		r.first, r.since = t.ID(), now
	}
	switch {
	case o != window.Overload:
		r.weight += asideAt
	case g.told == nil: // otherwise it may be refused for its size
		r.weight++
	}
	if r.alone = r.again && f.proof >= r.first && (r.finals > 0 || f.down < outage); r.alone {
		r.own++
	}
	bits := min(mostBits, -math.Log2(max(f.firsts, f.again)))
	if o == window.Timeout && bits == mostBits {
		final, bits = true, bits/slowness
	}
	if final {
		r.tries++
		g.ends(r, bits)
	}
	// A refusal or a time-out is an answer to the load, if nothing but operations aside makes it, and it can not be final.
	r.alone = r.alone && (final || flow > 0 || !o.Overloaded())
}

// ends weighs a failure that may be final.
func (g *Gate) ends(r *Run, bits float64) {
	f, most := &g.faults, g.rules.MaxFailures
	if !r.alone {
		return
	}
	if f.begun == 0 || g.now > f.latest+quiet {
		f.begun = g.now
	}
	f.latest = g.now
	r.finals++
	r.bits += bits
	r.long = g.now-r.since >= g.rules.MaxRetryAfter
	switch {
	case most == 0:
		r.sure = r.bits >= chance && (r.long || f.latest >= f.begun+failover)
	case most > 0:
		r.sure, r.long = r.finals >= most, true
	}
}

// Heard returns the outcome of an attempt for Answered. r is nil if its operation never failed. What fails by itself is
// neutral, and when that is beyond chance it is an answer, as a 404 is.
func (g *Gate) Heard(r *Run, o window.Outcome) window.Outcome {
	switch {
	case o.Accepted():
		g.faults.accepted(r, g.last)
	case r == nil || !r.alone:
	case r.bits >= chance:
		return window.ClientError
	default:
		return window.Neutral
	}
	return o
}

func (f *faults) accepted(r *Run, last uint64) {
	if f.down, f.proof = 0, last; r == nil || r.first == 0 {
		if f.firsts > 1e-300 { // as for the fog
			f.firsts -= f.firsts / firsts
		}
		return
	}
	for range r.tries - 1 {
		f.again += (1 - f.again) / agains
	}
	f.again -= f.again / agains
}

// AsideTurn is the number of turns among which operations aside get one, while others wait.
func (g *Gate) AsideTurn() int {
	return int(min(rareTurn, max(oftenTurn, 1/(turnRoom*g.faults.firsts))))
}
