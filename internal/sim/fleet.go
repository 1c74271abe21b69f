package sim

import (
	"strconv"
	"time"

	"github.com/aimd-go/aimd/internal/fleet"
	"github.com/aimd-go/aimd/window"
)

// Fleet gives the clients one window through a store, as package share does. Each client is a process.
type Fleet struct {
	// Every is the time between two reports of a client; 0: it follows the number of clients.
	Every time.Duration `yaml:"every" in:"10ms..1m"`
	// Delay is the longest time of a message to the store or back; the least is a tenth.
	Delay time.Duration `yaml:"delay" in:"0..10s"`
	// Away are the times in which the store does not answer. Empty: it has lost all when it is back.
	Away []Span `yaml:"-"`
	// Empty: see Away.
	Empty bool `yaml:"-"`
	// Lives is the time in which a client is there; nil: all the time. One that is killed sends no more.
	Lives func(client int) Span `yaml:"-"`
	// Most is the most that a client has in flight, 0: as many as it may.
	Most func(client int) int `yaml:"-"`
	// Weight is a client's; nil: 1.
	Weight func(client int) float64 `yaml:"-"`
}

// Span is a time; an Until of 0 is no end.
type Span struct{ From, Until time.Duration }

func (s Span) has(now time.Duration) bool { return now >= s.From && (s.Until == 0 || now < s.Until) }

type fleets struct {
	*Fleet
	e       *engine
	table   fleet.Table[fleet.Row, fleet.Message]
	message fleet.Message
	members []process
	mail    pool[letter]
	leader  fleet.Leader
	run     int64
	leads   int32
	away    bool
}

type process struct {
	fleet.Member
	sent float64
	// waits is until when it waits for the store, as share.Join does.
	waits time.Duration
}

// letter is a report on its way, or the answer.
type letter struct {
	client int32
	row    fleet.Row
	sent   time.Duration
	said   fleet.Message
	run    int64
}

func (f *fleets) every() time.Duration {
	if f.Every > 0 {
		return f.Every
	}
	return fleet.Interval(len(f.members))
}

func (f *fleets) lease() time.Duration { return fleet.Lease(f.every()) }

func newFleet(e *engine, plan *Fleet) *fleets {
	f := &fleets{Fleet: plan, e: e, members: make([]process, e.scenario.Clients.Count)}
	for i := range f.members {
		weight := 1.
		if f.Weight != nil {
			weight = f.Weight(i)
		}
		f.members[i].Member = fleet.NewMember(strconv.Itoa(i), weight)
	}
	return f
}

func (f *fleets) law(id int32, law window.NewLaw) window.NewLaw {
	return func(s window.Settings) window.Law { return fleet.Follow(&f.members[id].Member, law, s) }
}

// begin is once all parties are there. A client joins when it has work.
func (f *fleets) begin() {
	for i := range f.members {
		at := time.Duration(i) * f.e.scenario.Clients.Stagger
		if f.Lives != nil {
			at = f.Lives(i).From
		}
		f.members[i].waits = at + 2*time.Second
		f.e.at(at, reportKind, int32(i), 0)
	}
	f.e.at(fleet.Tick(f.every()), tickKind, 0, 0)
}

func (f *fleets) lives(client int32) bool {
	return f.Lives == nil || f.Lives(int(client)).has(f.e.now)
}

// may reports whether a client may have one attempt more, by what is no limiter's.
func (f *fleets) may(p *party) bool {
	if !f.lives(p.id) || f.e.now < f.members[p.id].waits {
		return false
	}
	if f.Most == nil {
		return true
	}
	most := f.Most(int(p.id))
	return most == 0 || p.core.Flying() < most
}

func (f *fleets) delay() time.Duration {
	return f.Delay/10 + f.e.random.upTo(f.Delay*9/10)
}

func (f *fleets) post(k kind, l letter) {
	id, to := f.mail.take()
	*to = l
	f.e.after(f.delay(), k, id, 0)
}

func (f *fleets) handle(v event) {
	switch v.kind {
	case reportKind:
		f.reports(v.id)
	case storeKind, replyKind:
		l := *f.mail.at(v.id)
		f.mail.give(v.id)
		if v.kind == storeKind {
			f.stores(l)
		} else {
			f.replied(l)
		}
	case tickKind:
		f.steps()
	}
}

func (f *fleets) replied(l letter) {
	if l.run != 0 && l.run != f.run {
		w := f.e.strategy.Window
		f.run, f.leads, f.message = l.run, l.client, l.said
		f.leader = fleet.Leader{
			ID: strconv.Itoa(int(l.client)), Law: w.MakeLaw(), Initial: w.Initial, Max: window.MaxWindow, Delay: f.Delay * 11 / 10, Every: f.every(),
		}
	}
	f.members[l.client].waits = 0
	f.members[l.client].Heard(l.sent, l.said, f.lease())
	f.follow(l.client)
}

func (f *fleets) reports(id int32) {
	e, p, m := f.e, f.e.parties[id], &f.members[id]
	if !f.lives(id) {
		return
	}
	queued := p.waiting.Len()
	if f.Most != nil && !f.may(p) {
		queued = 0
	}
	row := m.Report(e.now, fleet.Load{Queued: queued, Flying: p.core.Flying(), Sent: m.sent}, f.lease())
	f.post(storeKind, letter{client: id, row: row, sent: e.now})
	f.follow(id)
	e.after(stretched(f.every(), 0.9+0.2*e.random.Float64()), reportKind, id, 0)
}

func (f *fleets) follow(id int32) {
	p := f.e.parties[id]
	if f.e.now < f.members[id].waits {
		return
	}
	s := f.members[id].Share(f.e.now, f.e.now, p.core.State())
	if !s.Set {
		s.State = p.core.State()
	}
	if err := p.core.Shared(f.e.now, s.State, s.Part); err != nil {
		panic(err)
	}
	f.e.drain(p)
}

func (f *fleets) stores(l letter) {
	if f.isAway() {
		return
	}
	l.said, l.run = f.table.Report(f.e.now, strconv.Itoa(int(l.client)), l.row, f.lease())
	f.post(replyKind, l)
}

// isAway reports whether the store is away, and forgets all if it should.
func (f *fleets) isAway() bool {
	was := f.away
	f.away = false
	for _, s := range f.Away {
		f.away = f.away || s.has(f.e.now)
	}
	if was && !f.away && f.Empty {
		f.table = fleet.Table[fleet.Row, fleet.Message]{}
	}
	return f.away
}

// steps is the leader's. Its message is there at once: the time of its two calls is in Leader.Delay.
func (f *fleets) steps() {
	e := f.e
	e.after(fleet.Tick(f.every()), tickKind, 0, 0)
	if f.run == 0 || f.isAway() || !f.lives(f.leads) {
		return
	}
	id := strconv.Itoa(int(f.leads))
	rows, ok := f.table.Rows(e.now, id, f.run, f.lease())
	if !ok {
		return
	}
	if m, ok := f.leader.Step(e.now, e.now, rows, f.message); ok {
		f.message = m
		f.table.Say(e.now, id, f.run, m, f.lease())
	}
}
