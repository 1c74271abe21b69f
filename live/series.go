package live

import (
	"math"
	"slices"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
)

// remembered is the number of decisions of a limiter that are kept: more than the limiter keeps.
const remembered = 500

// Flow is the state of a client without a limiter, for Compare. The zero Flow is the Flow before the first attempt.
type Flow struct {
	// InFlight is the number of attempts sent and not answered.
	InFlight int
	// Accepted and Refused are the numbers of answers since the start.
	Accepted, Refused uint64
	// Ended: the client sends no more.
	Ended bool
}

// source is a limiter, or a client without one.
type source struct {
	name string
	// limiter is nil for a client.
	limiter *aimd.Limiter
	flow    Flow
}

func (s source) key() any {
	if s.limiter == nil {
		return s.name
	}
	return s.limiter
}

type series struct {
	source
	id int
	// closed: it takes no more work.
	closed bool

	now sample
	// past has samples a second or more apart, the latest included if it was kept.
	past []sample
	// decisions up to seq were seen.
	decisions []aimd.Event
	seq       uint64
}

// sample is a limiter at a time. A client without one has a window of 0.
type sample struct {
	at time.Time
	aimd.Snapshot
}

// sample looks at the limiter, until that has ended.
func (s *series) sample(now time.Time) {
	if s.closed && s.now.InFlight == 0 {
		return
	}
	if f := s.flow; s.limiter == nil {
		s.now = sample{now, aimd.Snapshot{
			InFlight: f.InFlight, Attempts: f.Accepted + f.Refused, Successes: f.Accepted, Overloads: f.Refused,
		}}
		s.closed = f.Ended
	} else {
		s.now = sample{now, s.limiter.Snapshot()}
	}
	decided := s.now.Decisions
	s.now.Decisions = nil // no sample keeps them
	// A tick may be a little early.
	if n := len(s.past); n == 0 || now.Sub(s.past[n-1].at) >= spacing-fastest/2 {
		s.past = append(s.past, s.now)
	}
	old := 0
	for now.Sub(s.past[old].at) > kept {
		old++
	}
	s.past = slices.Delete(s.past, 0, old)

	if s.limiter == nil {
		return
	}
	for _, e := range decided {
		if e.Seq > s.seq {
			s.seq, s.closed = e.Seq, s.closed || e.Kind == event.Closed
			s.decisions = append(s.decisions, e)
		}
	}
	s.decisions = slices.Delete(s.decisions, 0, max(0, len(s.decisions)-remembered))
}

// message is an event of the stream. Its names are short, since messages are many.
type message struct {
	Run string `json:"run"`
	// Now is in milliseconds since 1970, as all times are; Every is in milliseconds.
	Now      int64  `json:"now"`
	Every    int64  `json:"every"`
	More     int    `json:"more"`
	Limiters []view `json:"limiters"`
}

type view struct {
	ID int `json:"id"`
	// Name is there the first time, and with it the past, and where it changed.
	Name *string `json:"name,omitempty"`
	// Samples are rows: see sample.row.
	Samples   [][]float64 `json:"s"`
	Decisions []decision  `json:"d,omitempty"`
	// State is in a word.
	State string `json:"a"`
	// Words are more than the state.
	Words string `json:"w,omitempty"`
	// Quotas are the quotas that the service reports now.
	Quotas []aimd.Quota `json:"u,omitempty"`
	// Share is that of a window that processes share.
	Share *aimd.Share `json:"f,omitempty"`
}

type decision struct {
	Seq    uint64     `json:"q"`
	At     int64      `json:"t"`
	Kind   event.Kind `json:"k"`
	Before float64    `json:"b"`
	Cwnd   float64    `json:"c"`
	// Ssthresh is the one after it.
	Ssthresh float64 `json:"h"`
	// Wait is the time that a pause lasts, in milliseconds.
	Wait  int64  `json:"p,omitempty"`
	Words string `json:"w"`
}

// view has the samples and decisions after the decision with that number, or the whole past.
func (s *series) view(now time.Time, after uint64, all bool) view {
	v := view{ID: s.id, State: s.state(now), Quotas: s.now.Quotas, Share: s.now.Share}
	if v.State == "shadow" {
		v.Words = "shadow: " + s.now.Shadow.String()
	}
	news := s.decisions
	for len(news) > 0 && news[0].Seq <= after {
		news = news[1:]
	}
	if all {
		for _, p := range s.past {
			v.Samples = append(v.Samples, p.row())
		}
	}
	if n := len(s.past); !all || s.past[n-1].at != s.now.at {
		v.Samples = append(v.Samples, s.now.row())
	}
	for _, e := range news {
		v.Decisions = append(v.Decisions, tell(e))
	}
	return v
}

// row is a sample for a page: time, cwnd, ssthresh, in flight, queued, and since the
// start accepted, refused, timed out and neutral.
func (s sample) row() []float64 {
	return []float64{
		float64(s.at.UnixMilli()), hundredths(s.Cwnd), hundredths(s.Ssthresh), float64(s.InFlight), float64(s.Queued),
		float64(s.Successes + s.ClientErrors), float64(s.Overloads), float64(s.Timeouts), float64(s.Neutrals),
	}
}

func tell(e aimd.Event) decision {
	d := decision{
		Seq: e.Seq, At: e.Time.UnixMilli(), Kind: e.Kind, Before: hundredths(e.Before),
		Cwnd: hundredths(e.Window.Cwnd), Ssthresh: hundredths(e.Window.Ssthresh), Words: e.String(),
	}
	switch answered := e.Kind == event.Answered || e.Kind == event.Cut; {
	case answered && e.Window.Cwnd > e.Before:
		d.Kind = "grew"
	case answered && e.Window.Cwnd == e.Before:
		d.Kind = "kept"
	case answered && e.Outcome.Overloaded(): // the first of a burst, or one that made the cut deeper
		d.Kind = event.Cut
	case answered:
		d.Kind = "shrank"
	case e.Kind == event.Paused:
		d.Wait = e.Wait.Milliseconds()
	}
	return d
}

// hundredths rounds a window, but never to 0, which means no window on the page.
func hundredths(x float64) float64 {
	if x == 0 {
		return 0
	}
	return max(0.01, math.Round(x*100)/100)
}
