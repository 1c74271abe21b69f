package share_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/share"
)

// A store may answer while nobody leads: its clock went back an hour, and the leader died; or its calls are too slow to
// lead by. The last message was followed for ever, as if it were new.
func TestAStoreThatAnswersWhileNobodyLeads(t *testing.T) {
	for what, happens := range map[string]func(*crowd){
		"the clock goes back": func(c *crowd) {
			c.lines[c.leader()].cut.Store(true)
			c.store.Jumps(-time.Hour)
		},
		"slow calls": func(c *crowd) { c.store.Takes(time.Second) },
	} {
		synctest.Test(t, func(t *testing.T) {
			c := together(t, 6, &service{slots: 40, takes: 300 * time.Millisecond})
			time.Sleep(10 * time.Second)
			happens(c)
			time.Sleep(12 * time.Second)
			c.watch(what, 5*time.Second, 0.75, 1.1) // .825 and more, .95 in the median
			for _, p := range c.all {
				assert.NotEqual(t, "shared", p.lim.Snapshot().Share.Mode) // silent, or alone if three of its ten answers are refused
			}
			c.store.Takes(0)
			c.store.Jumps(time.Hour)
			time.Sleep(10 * time.Second)
			require.GreaterOrEqual(t, c.leader(), 0)
			for _, l := range c.lines {
				l.cut.Store(false)
			}
		})
	}
}

// stopped is the store of a process that is stopped while it cannot send to the gate. longest is its longest lease.
type stopped struct {
	share.Store
	gate    chan struct{}
	longest atomic.Int64
}

func (s *stopped) wait() {
	s.gate <- struct{}{}
	<-s.gate
}

func (s *stopped) Report(ctx context.Context, id string, row []byte, lease time.Duration) (share.Answer, error) {
	s.wait()
	s.longest.Store(max(s.longest.Load(), int64(lease)))
	return s.Store.Report(context.WithoutCancel(ctx), id, row, lease)
}

// A process that was stopped for 10 s, as by a debugger or kill -STOP, sent its old share beside the others, who had it
// as well, and its answers had 10 s for their round trip: 128 to 147 were refused in a second. Then its lease was four
// times as long as the stop: if it was killed, its share was nobody's for so long.
func TestAProcessThatWasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{slots: 20, takes: 100 * time.Millisecond}
		c := together(t, 2, s)
		p := &stopped{Store: c.store, gate: make(chan struct{}, 1)}
		s.stop = func(process int) {
			if process == 2 {
				p.wait()
			}
		}
		c.joins(p, aimd.Config{})
		c.store.Takes(4 * time.Millisecond)
		time.Sleep(5 * time.Second)
		p.gate <- struct{}{}
		time.Sleep(10 * time.Second)
		<-p.gate
		s.since()
		time.Sleep(time.Second)
		_, refused, _ := s.since()
		assert.LessOrEqual(t, refused, 60) // 0 to 20
		assert.LessOrEqual(t, time.Duration(p.longest.Load()), 4*800*time.Millisecond)
		c.watch("after it", 3*time.Second, 0.6, whatever)
	})
}

// The law took a store that got slower for a service that did: the window of a fleet of 30 fell to a third at 100 ms a
// call, to a fifth at 200 ms, and stayed there, while nothing was refused.
func TestAStoreThatGetsSlower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 10, &service{slots: 20, takes: 100 * time.Millisecond})
		c.store.Takes(4 * time.Millisecond)
		time.Sleep(5 * time.Second)
		c.store.Takes(150 * time.Millisecond)
		time.Sleep(2 * time.Second)
		c.watch("slower", 6*time.Second, 0.5, 1.4) // .64 to .9
	})
}

// A client of Redis that failed to connect tries again after up to a second. The first processes that were back had the
// whole window, beside the shares that the others kept: 26 to 107 were refused, and for 3 s .3 to .7 of the slots used.
func TestAStoreThatIsBackForSomeFirst(t *testing.T) {
	for _, empty := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c := together(t, 10, &service{slots: 20, takes: 100 * time.Millisecond})
			time.Sleep(11 * time.Second)
			for _, l := range c.lines {
				l.cut.Store(true)
			}
			time.Sleep(2 * time.Second)
			if empty {
				c.store.Forgets()
			}
			for i, l := range c.lines {
				time.AfterFunc(time.Duration(i+1)*90*time.Millisecond, func() { l.cut.Store(false) })
			}
			c.watch("back", time.Second, 0, 1.1)
			c.watch("after", 3*time.Second, 0.75, whatever)
		})
	}
}

// Half of the processes were cut off and kept their shares, so the law of the others found what was left. When all were back
// they had no more: .59 to .83 of the slots were used for 3 s.
func TestAFleetThatWasSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 10, &service{slots: 40, takes: 300 * time.Millisecond})
		for _, cut := range []bool{true, false} {
			time.Sleep(10 * time.Second)
			for _, l := range c.lines[:5] {
				l.cut.Store(cut)
			}
		}
		c.watch("back", 3*time.Second, 0.8, whatever)
	})
}

// A program that is configured anew, or another one with the same name by mistake, leads with a larger quota, or with none. The
// others had no bound of their own then: nine of MaxRate 40 sent 900 a second, or 360, and of MaxWindow 4 had 36 in flight.
func TestTheLeaderHasOtherSettings(t *testing.T) {
	for what, c := range map[string]struct{ leads, others aimd.Config }{
		"a larger rate":   {aimd.Config{MaxRate: 400}, aimd.Config{MaxRate: 40}},
		"no rate":         {aimd.Config{}, aimd.Config{MaxRate: 40}},
		"no amount":       {aimd.Config{}, aimd.Config{MaxAmountRate: 40}},
		"a larger window": {aimd.Config{}, aimd.Config{MaxWindow: 4}},
	} {
		synctest.Test(t, func(t *testing.T) {
			all := together(t, 0, &service{slots: 60, takes: 100 * time.Millisecond})
			all.join(c.leads)
			time.Sleep(200 * time.Millisecond)
			for range 4 {
				all.join(c.others)
			}
			time.Sleep(3 * time.Second)
			require.Equal(t, 0, all.leader())
			all.service.since()
			time.Sleep(4 * time.Second)
			all.service.mu.Lock()
			of := all.service.ofProcess
			rate := float64(of[1]+of[2]+of[3]+of[4]) / 4
			all.service.mu.Unlock()
			assert.LessOrEqual(t, rate, 44., what)
			assert.GreaterOrEqual(t, rate, 24., what)
		})
	}
}

// Sends that are less than a millisecond apart are not spaced. A share of more than 100 in flight at 100 ms, or of 20 at
// 20 ms, was sent again and again before the leader heard of the first refusal: 1.7 to 2.1 attempts for each success.
func TestALargeShareThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 0, &service{slots: 200, takes: 100 * time.Millisecond})
		c.all = append(c.all, begin(t, c.store, aimd.Config{}))
		c.all[0].works(c.service, 0, 400, 0, one)
		c.watch("from the start", 4*time.Second, 0.3, 1.2)
	})
}
