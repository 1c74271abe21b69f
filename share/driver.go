package share

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/fleet"
	"github.com/aimd-go/aimd/window"
)

// now is the time since Join.
func (f *Fleet) now() time.Duration { return time.Since(f.made) }

// reports reports until Close. run is that by which the process leads since Join.
func (f *Fleet) reports(run int64, law window.NewLaw, initial float64) {
	defer f.done.Done()
	leads := func() {
		if run != 0 {
			f.done.Add(1)
			go f.lead(run, law, initial)
		}
	}
	leads()
	for f.ctx.Err() == nil {
		s := f.limiter.Snapshot()
		run = f.report(fleet.Load{
			Queued: s.Queued, Flying: s.InFlight, Sent: float64(s.Attempts) + float64(s.InFlight), Amount: s.Amount,
			MaxWindow: s.Config.MaxWindow, MaxRate: s.Config.MaxRate, MaxAmountRate: s.Config.MaxAmountRate,
		}, 0)
		f.follow()
		leads()
		f.mu.Lock()
		every := f.every()
		f.mu.Unlock()
		f.sleep(time.Duration(float64(every)*(0.9+0.2*rand.Float64())), f.woken) // not all at once
	}
}

// every is the time between two reports.
func (f *Fleet) every() time.Duration {
	if f.rests {
		return max(resting, f.member.Every())
	}
	return f.member.Every()
}

func (f *Fleet) sleep(d time.Duration, woken <-chan struct{}) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-woken:
	case <-f.ctx.Done():
	}
}

// lease is the lease of a row, and how long a call may take. It is as long as four reports take in fact, as on a busy machine.
func (f *Fleet) lease() (lease, call time.Duration) {
	lease = fleet.Lease(max(f.late, f.every()))
	return lease, lease / 2
}

// report reports once. It returns the run by which the process begins to lead, or 0.
func (f *Fleet) report(l fleet.Load, patience time.Duration) (begins int64) {
	f.mu.Lock()
	sent := f.now()
	if f.reported > 0 { // of a process that was stopped no more than the lease that it had: it may be killed next
		lease, _ := f.lease()
		f.late = max(f.late*9/10, min(lease, sent-f.reported))
	}
	f.reported = max(sent, 1)
	if l.Queued > 0 || l.Flying > 0 || l.Sent != f.sent || f.member.Mode() != fleet.Shared {
		f.sent, f.worked = l.Sent, sent
	}
	f.rests = sent-f.worked > tired
	lease, call := f.lease()
	row, err := json.Marshal(f.member.Report(sent, l, lease))
	f.mu.Unlock()
	var a Answer
	if err == nil {
		ctx, cancel := context.WithTimeout(f.ctx, max(call, patience))
		a, err = f.config.Store.Report(ctx, f.id, row, lease)
		cancel()
	}
	var said fleet.Message
	if err == nil && len(a.Message) > 0 {
		err = json.Unmarshal(a.Message, &said)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away = err; err != nil {
		return 0
	}
	back := f.now()
	f.heard, f.said = time.Now(), said
	f.delay += (back - sent - f.delay) / 8
	f.apart = time.Duration(a.Now.UnixNano()) - (sent+back)/2
	f.member.Heard(sent, said, lease)
	if a.Run == f.leads {
		return 0
	}
	f.leads = a.Run
	return a.Run
}

// follow gives the limiter its share.
func (f *Fleet) follow() {
	s := f.limiter.Snapshot()
	f.mu.Lock()
	now := f.now()
	share := f.member.Share(now, now+f.apart, s.State)
	shown := aimd.Share{
		Mode: string(share.Mode), Window: share.Window, Processes: f.member.Processes(), Leads: f.leads != 0, Heard: f.heard,
	}
	away := f.away
	news := shown.Mode
	if shown.Leads {
		news += ", leads"
	}
	if news == f.logged {
		news = ""
	} else {
		f.logged = news
	}
	f.mu.Unlock()
	if !share.Set {
		share.State = window.State{}
	}
	_ = f.limiter.Follow(shown, share.State, share.Part, away) // no state that a member makes is wrong
	if news != "" {
		f.log(news, shown, away)
	}
}

func (f *Fleet) log(news string, s aimd.Share, away error) {
	if away != nil {
		f.config.Logger.Warn("share: "+news, "process", f.id, "processes", s.Processes, "store", away)
		return
	}
	f.config.Logger.Info("share: "+news, "process", f.id, "processes", s.Processes, "share", s.Window)
}

// lead is the leader, until another one leads.
func (f *Fleet) lead(run int64, law window.NewLaw, initial float64) {
	defer f.done.Done()
	l, worked := fleet.Leader{ID: f.id, Law: law, Initial: initial}, f.now()
	for f.ctx.Err() == nil {
		work, err := f.step(&l, run)
		if errors.Is(err, ErrLost) {
			return
		}
		if work {
			worked = f.now()
		}
		f.mu.Lock()
		every := f.member.Every()
		f.mu.Unlock()
		if f.now()-worked > tired {
			every = max(resting, every)
		}
		f.sleep(fleet.Tick(every), nil)
	}
}

// step takes the rows, and says what follows from them. work: a process has some.
func (f *Fleet) step(l *fleet.Leader, run int64) (work bool, err error) {
	f.mu.Lock()
	lease, call := f.lease()
	l.Delay = 2 * f.delay
	said := f.said
	apart := f.apart
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(f.ctx, call)
	defer cancel()
	all, err := f.config.Store.Lead(ctx, f.id, run, nil, lease)
	if err != nil {
		return false, err
	}
	rows := make(map[string]fleet.Row, len(all))
	for id, data := range all {
		var r fleet.Row
		if json.Unmarshal(data, &r) == nil && r.Weight > 0 { // one of another version has no share here
			rows[id] = r
			work = work || r.Flying > 0 || r.Queued > 0
		}
	}
	c := f.limiter.Snapshot().Config
	l.Max, l.MaxRate, l.MaxAmountRate = c.MaxWindow, c.MaxRate, c.MaxAmountRate
	now := f.now()
	m, ok := l.Step(now, now+apart, rows, said)
	if !ok {
		return work, nil
	}
	data, err := json.Marshal(m)
	if err == nil {
		_, err = f.config.Store.Lead(ctx, f.id, run, data, lease)
	}
	return work, err
}

// locked is a law whose member others use, too. apart is the time since Join less that of the limiter.
type locked struct {
	window.Law
	f     *Fleet
	apart time.Duration
}

// Answered implements window.Law.
func (l locked) Answered(now time.Duration, s window.State, a window.End) window.State {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	if l.f.rests {
		l.f.rests = false
		select {
		case l.f.woken <- struct{}{}:
		default:
		}
	}
	return l.Law.Answered(now+l.apart, s, a)
}

// Explain implements window.Explained.
func (l locked) Explain() (cause, phase string) {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	return l.Law.(window.Explained).Explain()
}
