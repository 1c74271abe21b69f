package share_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/sharetest"
	"github.com/aimd-go/aimd/share"
)

// line is one process's way to the store. It may be cut.
type line struct {
	share.Store
	cut  atomic.Bool
	lost atomic.Int64
}

func (l *line) Report(ctx context.Context, id string, row []byte, lease time.Duration) (share.Answer, error) {
	if l.cut.Load() {
		return share.Answer{}, sharetest.ErrAway
	}
	return l.Store.Report(ctx, id, row, lease)
}

func (l *line) Lead(ctx context.Context, id string, run int64, message []byte, lease time.Duration) (map[string][]byte, error) {
	if l.cut.Load() {
		return nil, sharetest.ErrAway
	}
	rows, err := l.Store.Lead(ctx, id, run, message, lease)
	if errors.Is(err, share.ErrLost) {
		l.lost.Add(1)
	}
	return rows, err
}

// crowd is n processes that always have work, at a service of slots.
type crowd struct {
	t       *testing.T
	store   *sharetest.Memory
	service *service
	lines   []*line
	all     []*process
}

// together are n processes, which end with the test.
func together(t *testing.T, n int, s *service) *crowd {
	c := &crowd{t: t, store: new(sharetest.Memory), service: s}
	t.Cleanup(c.end)
	for range n {
		c.join(aimd.Config{})
	}
	return c
}

func (c *crowd) join(config aimd.Config) { c.joins(c.store, config) }

func (c *crowd) joins(store share.Store, config aimd.Config) {
	l := &line{Store: store}
	p := begin(c.t, l, config)
	p.works(c.service, len(c.all), 2*c.service.slots/3+1, 0, one)
	c.lines, c.all = append(c.lines, l), append(c.all, p)
}

// whatever is the most attempts that a test does not look at.
const whatever = math.MaxFloat64

// watch asserts the least use of the slots in that time, and the most attempts for each success.
func (c *crowd) watch(what string, d time.Duration, least, most float64) {
	c.t.Helper()
	c.service.since()
	time.Sleep(d)
	taken, refused, _ := c.service.since()
	use := float64(taken) * c.service.takes.Seconds() / float64(c.service.slots) / d.Seconds()
	attempts := float64(taken+refused) / float64(max(1, taken))
	c.t.Logf("%s: %.3f @ %.3f", what, use, attempts)
	assert.GreaterOrEqual(c.t, use, least, what)
	assert.LessOrEqual(c.t, attempts, most, what)
}

func (c *crowd) leader() int {
	for i, p := range c.all {
		if s := p.lim.Snapshot().Share; s.Leads && s.Mode == "shared" {
			return i
		}
	}
	return -1
}

func (c *crowd) end() {
	for _, p := range c.all {
		p.end(c.t)
	}
}

// A store that died while the fleet found its window left .13 to .83 of the slots, for ten minutes.
func TestAStoreThatDiesSoon(t *testing.T) {
	for at, n := range map[time.Duration]int{300 * time.Millisecond: 10, time.Second: 2, 5 * time.Second: 4} {
		synctest.Test(t, func(t *testing.T) {
			c := together(t, n, &service{slots: 64, takes: 100 * time.Millisecond})
			time.Sleep(at)
			c.store.Fails(sharetest.ErrAway)
			time.Sleep(23 * time.Second)
			c.watch(at.String(), 5*time.Second, 0.95, 1.5)
			c.store.Fails(nil)
		})
	}
}

// What is bounded for all is split by demand, and a law of its own has one part in N: one of five that has all of the work kept
// a fifth of a MaxWindow.
func TestAStoreThatDiesSoonLeavesTheBounds(t *testing.T) {
	for _, config := range []aimd.Config{{MaxWindow: 10}, {MaxRate: 100}, {MaxAmountRate: 100}} {
		synctest.Test(t, func(t *testing.T) {
			c := together(t, 0, &service{slots: 64, takes: 100 * time.Millisecond})
			c.join(config)
			for i := range 4 {
				p := begin(t, c.store, config)
				p.works(c.service, 1+i, 0, 0, one)
				c.all = append(c.all, p)
			}
			time.Sleep(5 * time.Second)
			c.store.Fails(sharetest.ErrAway)
			time.Sleep(5 * time.Second)
			c.service.since()
			time.Sleep(10 * time.Second)
			taken, _, _ := c.service.since()
			assert.InDelta(t, 1000, taken, 50, "%+v", c.all[0].lim.Snapshot().Share)
			c.store.Fails(nil)
		})
	}
}

// The store goes away, comes back with its data, goes away, and comes back empty.
func TestAStoreThatGoesAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 10, &service{slots: 40, takes: 300 * time.Millisecond})
		time.Sleep(15 * time.Second)
		for _, empty := range []bool{false, true} {
			c.watch("there", 10*time.Second, 0.9, 1.1)
			c.store.Fails(sharetest.ErrAway)
			c.watch("away", 30*time.Second, 0.85, 1.1)
			require.Equal(t, "silent", c.all[3].lim.Snapshot().Share.Mode)
			if empty {
				c.store.Forgets()
			}
			c.store.Fails(nil)
			c.watch(fmt.Sprintf("back, empty %v", empty), 5*time.Second, 0.85, 1.1)
			require.Equal(t, "shared", c.all[3].lim.Snapshot().Share.Mode)
		}
	})
}

// Processes that have work keep their shares for ten minutes: each by a law of its own sends 1.1 to 1.5 attempts. Then each
// has one.
func TestAStoreThatIsAwayForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 6, &service{slots: 40, takes: 300 * time.Millisecond})
		time.Sleep(15 * time.Second)
		c.store.Fails(sharetest.ErrAway)
		c.watch("silent", 599*time.Second, 0.9, 1.1) // .97; .79 with the mean of ten seconds, in which the start counts
		require.Equal(t, "silent", c.all[3].lim.Snapshot().Share.Mode)
		time.Sleep(4 * time.Second)
		require.Equal(t, "alone", c.all[3].lim.Snapshot().Share.Mode)
		c.watch("alone", 30*time.Second, 0.8, whatever)
		c.store.Fails(nil)
		time.Sleep(time.Second)
		require.Equal(t, "shared", c.all[3].lim.Snapshot().Share.Mode)
	})
}

// The law looks at half of the window whether the service is as fast. A store that goes meanwhile leaves what the service took, not
// the half, and not the pace of the long answers before: .63 of the slots.
func TestAStoreThatGoesWhileTheLawLooks(t *testing.T) {
	for _, at := range []time.Duration{12 * time.Second, 13500 * time.Millisecond, 15 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c := together(t, 6, &service{slots: 40, takes: 900 * time.Millisecond, line: make(chan struct{}, 40)})
			time.Sleep(at)
			c.store.Fails(sharetest.ErrAway)
			time.Sleep(3 * time.Second)
			c.watch("silent", 20*time.Second, 0.85, whatever)
			c.store.Fails(nil)
		})
	}
}

// The service loses most of its slots while the store is away. Processes whose answers are refused do not wait for the store.
func TestRefusalsEndTheWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 4, &service{slots: 40, takes: 300 * time.Millisecond})
		time.Sleep(15 * time.Second)
		c.store.Fails(sharetest.ErrAway)
		time.Sleep(2 * time.Second)
		c.service.mu.Lock()
		c.service.slots = 10
		c.service.mu.Unlock()
		for _, least := range []int{3, 4} { // in two of 500 runs one waits for more than ten seconds
			time.Sleep(10 * time.Second)
			alone := 0
			for _, p := range c.all {
				if p.lim.Snapshot().Share.Mode == "alone" {
					alone++
				}
			}
			require.GreaterOrEqual(t, alone, least)
		}
		c.watch("a quarter of the slots", 20*time.Second, 0, 2.5) // for 4 if all kept their shares
		c.store.Fails(nil)
	})
}

// A leader that is cut off from the store is followed by another one, and when it is back it is fenced.
func TestALeaderThatIsCutOffIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 5, &service{slots: 20, takes: 200 * time.Millisecond})
		time.Sleep(10 * time.Second)
		old := c.leader()
		require.GreaterOrEqual(t, old, 0)
		c.lines[old].cut.Store(true)
		time.Sleep(2 * time.Second)
		next := c.leader()
		require.GreaterOrEqual(t, next, 0, "another leads after its lease")
		require.NotEqual(t, old, next)
		require.Equal(t, "silent", c.all[old].lim.Snapshot().Share.Mode)
		require.Zero(t, c.lines[old].lost.Load())
		c.lines[old].cut.Store(false)
		time.Sleep(time.Second)
		require.Equal(t, int64(1), c.lines[old].lost.Load(), "it asks once more, and gives up")
		require.Equal(t, next, c.leader())
		require.Equal(t, "shared", c.all[old].lim.Snapshot().Share.Mode)
	})
}

// A store that begins to refuse is a line in the log, an event and the last share, not the end of a limiter.
func TestAStoreThatRefusesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, log := new(sharetest.Memory), new(lines)
		f, err := share.Join(share.Config{Store: store, Logger: log.logger()})
		require.NoError(t, err)
		var mu sync.Mutex
		var last aimd.Event
		lim, err := f.New(aimd.Config{Observer: func(e aimd.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Kind == event.Share {
				last = e
			}
		}})
		require.NoError(t, err)
		defer begin(t, store, aimd.Config{}).fleet.Close() // who is alone has no share to keep, and nobody for ten seconds
		time.Sleep(10 * time.Second)
		require.Equal(t, "shared", lim.Snapshot().Share.Mode)
		store.Fails(fmt.Errorf("READONLY: %w", share.ErrRefused))
		time.Sleep(3 * time.Second)
		require.Equal(t, "silent", lim.Snapshot().Share.Mode)
		require.Positive(t, lim.Snapshot().Share.Window)
		require.Equal(t, 1, log.count("READONLY"), "%q", log.all)
		mu.Lock()
		require.ErrorIs(t, last.Err, share.ErrRefused)
		require.Contains(t, last.String(), "share: silent")
		mu.Unlock()
		require.ErrorIs(t, f.Close(), share.ErrRefused)
	})
}

// A process that closes leaves its share at once, and one that is killed after its lease.
func TestWhoLeavesLeavesItsShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 3, &service{slots: 30, takes: 200 * time.Millisecond})
		window := func(i int) float64 { return c.all[i].lim.Snapshot().Share.Window }
		time.Sleep(10 * time.Second)
		before := window(0) + window(1) + window(2)
		c.all[2].end(t)
		time.Sleep(time.Second / 2)
		require.Equal(t, 2, c.all[0].lim.Snapshot().Share.Processes)
		require.InDelta(t, 1, (window(0)+window(1))/before, 0.3) // .90 to 1.16, and .67 without its share
		c.lines[1].cut.Store(true)                               // killed, as the store sees it
		time.Sleep(3 * time.Second)
		require.Equal(t, 1, c.all[0].lim.Snapshot().Share.Processes)
		c.all = c.all[:2]
	})
}

// Nothing of the store is on the path of an operation: a store that takes .9 s for each call delays none.
func TestASlowStoreDelaysNoOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(sharetest.Memory)
		store.Takes(900 * time.Millisecond) // Close waits for a second
		p := begin(t, store, aimd.Config{})
		time.Sleep(10 * time.Second)
		start := time.Now()
		for range 100 {
			require.NoError(t, p.lim.Do(context.Background(), func(context.Context) error { return nil }))
		}
		require.Less(t, time.Since(start), 100*time.Millisecond)
		p.stop = func() {}
		p.end(t)
	})
}

func TestWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{slots: 50, takes: 200 * time.Millisecond}
		store := new(sharetest.Memory)
		var all []*process
		for i := range 5 {
			p := begin(t, store, aimd.Config{}, map[bool]float64{true: 4, false: 1}[i == 0])
			p.works(s, i, 60, 0, one)
			all = append(all, p)
		}
		time.Sleep(10 * time.Second)
		s.since()
		time.Sleep(time.Minute)
		s.mu.Lock()
		var sum, squares float64
		for i, p := range s.ofProcess {
			of := float64(p) / map[bool]float64{true: 4, false: 1}[i == 0]
			sum, squares = sum+of, squares+of*of
		}
		assert.GreaterOrEqual(t, sum*sum/(5*squares), .985, "Jain's index of what each weight had: %v", s.ofProcess)
		s.mu.Unlock()
		for _, p := range all {
			p.end(t)
		}
	})
}

// A limiter is Reconfigured while it has a share: MaxRate is the fleet's.
func TestReconfigureChangesTheFleetsQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := together(t, 0, &service{slots: 1000, takes: 100 * time.Millisecond})
		for range 4 {
			c.join(aimd.Config{MaxRate: 40})
		}
		rate := func() float64 {
			time.Sleep(5 * time.Second)
			c.service.since()
			time.Sleep(10 * time.Second)
			n, _, _ := c.service.since()
			return float64(n) / 10
		}
		require.InDelta(t, 40, rate(), 2)
		for _, p := range c.all {
			require.NoError(t, p.lim.Reconfigure(func(c *aimd.Config) { c.MaxRate = 80 }))
		}
		require.InDelta(t, 80, rate(), 4)
	})
}
