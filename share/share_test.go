package share_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/sharetest"
	"github.com/aimd-go/aimd/setting"
	"github.com/aimd-go/aimd/share"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStoreInMemoryConforms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { sharetest.Conforms(t, new(sharetest.Memory), time.Sleep) })
}

// lines are the lines of a log.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(p))
	return len(p), nil
}

func (l *lines) count(word string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.all {
		if strings.Contains(s, word) {
			n++
		}
	}
	return n
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

var silent = slog.New(slog.DiscardHandler)

// service takes a rate, with a burst, or has slots. What it refuses it refuses at once. With a line nothing is refused: it waits.
type service struct {
	line                   chan struct{}
	stop                   func(process int)
	mu                     sync.Mutex
	perSecond, burst       float64
	slots                  int
	takes                  time.Duration
	filled                 float64
	at                     time.Time
	flying, taken, refused int
	ofProcess              map[int]int
	amounts                float64
}

func (s *service) call(ctx context.Context, process int, amount float64) error {
	if s.stop != nil { // the answer waits for the process
		defer s.stop(process)
	}
	s.mu.Lock()
	now := time.Now()
	if s.at.IsZero() {
		s.filled = s.burst
	} else {
		s.filled = min(s.burst, s.filled+now.Sub(s.at).Seconds()*s.perSecond)
	}
	s.at = now
	if s.perSecond > 0 && s.filled < amount || s.slots > 0 && s.flying >= s.slots && s.line == nil {
		s.refused++
		s.mu.Unlock()
		return aimd.Refused(errors.New("too much"))
	}
	s.filled -= amount
	s.flying++
	s.mu.Unlock()
	if s.line != nil {
		s.line <- struct{}{}
	}
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line != nil {
		<-s.line
	}
	s.flying--
	s.taken++
	s.amounts += amount
	if s.ofProcess == nil {
		s.ofProcess = map[int]int{}
	}
	s.ofProcess[process]++
	return nil
}

// since returns what was taken and refused since the last call.
func (s *service) since() (taken, refused int, amounts float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken, refused, amounts = s.taken, s.refused, s.amounts
	s.taken, s.refused, s.amounts, s.ofProcess = 0, 0, 0, nil
	return taken, refused, amounts
}

// process is one of a fleet at work.
type process struct {
	fleet *share.Fleet
	lim   *aimd.Limiter
	stop  context.CancelFunc
	done  sync.WaitGroup
}

func begin(t *testing.T, store share.Store, c aimd.Config, weight ...float64) *process {
	f, err := share.Join(share.Config{Store: store, Logger: silent, Weight: append(weight, 0)[0]})
	require.NoError(t, err)
	lim, err := f.New(c)
	require.NoError(t, err)
	return &process{fleet: f, lim: lim}
}

// works has workers that always have work, or operations at random times at that rate.
func (p *process) works(s *service, i, workers int, rate float64, amount func(r *rand.Rand) float64) {
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	do := func(r *rand.Rand) {
		n := amount(r)
		_ = p.lim.Do(aimd.WithAmount(ctx, n), func(ctx context.Context) error { return s.call(ctx, i, n) })
	}
	for w := range workers {
		p.done.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), uint64(w)))
			for ctx.Err() == nil {
				do(r)
			}
		})
	}
	if rate > 0 {
		p.done.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 0))
			for {
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Duration(r.ExpFloat64() / rate * float64(time.Second))):
				}
				one := rand.New(rand.NewPCG(r.Uint64(), 0))
				p.done.Go(func() { do(one) })
			}
		})
	}
}

func (p *process) end(t *testing.T) {
	p.stop()
	p.done.Wait()
	assert.NoError(t, p.fleet.Close())
	assert.NoError(t, p.lim.Close())
}

func one(*rand.Rand) float64 { return 1 }

// A fixed quota that processes share: a quarter of them have more work than there is, the others a little.
func TestAFixedQuotaIsSplitByDemand(t *testing.T) {
	for name, c := range map[string]struct {
		config           aimd.Config
		perSecond, burst float64
		amount           func(*rand.Rand) float64
	}{
		"requests": {aimd.Config{MaxRate: 100}, 100, 20, one},
		"tokens":   {aimd.Config{MaxAmountRate: 200_000. / 60}, 200_000. / 60, 20_000, func(r *rand.Rand) float64 { return 10 + 90*r.Float64() }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(sharetest.Memory)
				store.Takes(6 * time.Millisecond)
				s := &service{perSecond: c.perSecond, burst: c.burst, takes: 300 * time.Millisecond}
				mean := 0.
				r := rand.New(rand.NewPCG(1, 1))
				for range 1000 {
					mean += c.amount(r) / 1000
				}
				var all []*process
				for i := range 20 {
					p := begin(t, store, c.config)
					workers, rate := 20, 0.
					if i >= 5 {
						workers, rate = 0, c.perSecond/mean/100
					}
					p.works(s, i, workers, rate, c.amount)
					all = append(all, p)
					time.Sleep(50 * time.Millisecond)
				}
				watch := func(what string, d time.Duration) (used, refused float64) {
					s.since()
					time.Sleep(d)
					n, bad, amounts := s.since()
					used, refused = amounts/c.perSecond/d.Seconds(), float64(bad)/float64(n+bad)
					t.Logf("%s, %s: used %.4f, refused %.4f", name, what, used, refused)
					return used, refused
				}
				time.Sleep(15 * time.Second)
				used, refused := watch("steady", 30*time.Second)
				assert.GreaterOrEqual(t, used, 0.98)
				assert.LessOrEqual(t, refused, 0.001)
				store.Fails(sharetest.ErrAway)
				used, _ = watch("away", time.Minute)
				assert.LessOrEqual(t, used, 1.05)
				store.Fails(nil)
				used, refused = watch("back", 20*time.Second)
				assert.GreaterOrEqual(t, used, 0.95)
				assert.LessOrEqual(t, refused, 0.001)
				for _, p := range all {
					p.end(t)
				}
			})
		})
	}
}

func TestASettingThatIsNotAllowedIsAnErrorOfJoin(t *testing.T) {
	store := new(sharetest.Memory)
	for _, c := range []share.Config{{}, {Store: store, Weight: -1}, {Store: store, Weight: 101}} {
		_, err := share.Join(c)
		require.ErrorAs(t, err, new(*setting.Error), "%+v", c)
	}
	require.Zero(t, store.Calls())
}

func TestAStoreThatRefusesIsAnErrorOfJoin(t *testing.T) {
	store := new(sharetest.Memory)
	store.Fails(fmt.Errorf("WRONGPASS: %w", share.ErrRefused))
	_, err := share.Join(share.Config{Store: store, Logger: silent})
	require.ErrorIs(t, err, share.ErrRefused)
	require.ErrorContains(t, err, "WRONGPASS")
}

// A store that is not there at the start is no error. The limiter works, and joins when it is.
func TestAStoreThatIsAwayAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, log := new(sharetest.Memory), new(lines)
		store.Fails(sharetest.ErrAway)
		f, err := share.Join(share.Config{Store: store, Logger: log.logger()})
		require.NoError(t, err)
		var events []aimd.Event
		lim, err := f.New(aimd.Config{Observer: func(e aimd.Event) {
			if e.Kind == event.Share {
				events = append(events, e)
			}
		}})
		require.NoError(t, err)
		require.NoError(t, lim.Do(context.Background(), func(context.Context) error { return nil }))
		time.Sleep(5 * time.Second)
		require.Equal(t, "alone", lim.Snapshot().Share.Mode)
		require.Equal(t, 1, log.count("level=WARN"), "%q", log.all)
		require.Equal(t, 1, log.count(sharetest.ErrAway.Error()))
		store.Fails(nil)
		time.Sleep(2 * time.Second)
		require.Equal(t, "shared", lim.Snapshot().Share.Mode)
		require.True(t, lim.Snapshot().Share.Leads)
		require.NoError(t, f.Close())
		require.Equal(t, "alone", lim.Snapshot().Share.Mode)
		require.NoError(t, f.Close(), "a second time")
		require.NotEmpty(t, events)
		_, err = f.New(aimd.Config{})
		require.Error(t, err)
	})
}

// A fleet without work asks the store once a second, and one that has work again ten times a second at once.
func TestAFleetWithoutWorkRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(sharetest.Memory)
		var all []*process
		for range 3 {
			all = append(all, begin(t, store, aimd.Config{}))
		}
		calls := func(d time.Duration) float64 {
			before := store.Calls()
			time.Sleep(d)
			return float64(store.Calls()-before) / d.Seconds()
		}
		assert.InDelta(t, 3*10+2/0.04, calls(8*time.Second), 4)
		time.Sleep(4 * time.Second)
		atRest := calls(30 * time.Second)
		assert.InDelta(t, 3+2/0.4, atRest, 1, "reports, and two calls of the leader")
		ctx, stop := context.WithCancel(t.Context())
		all[2].done.Go(func() {
			for ctx.Err() == nil {
				_ = all[2].lim.Do(ctx, func(context.Context) error { time.Sleep(50 * time.Millisecond); return nil })
			}
		})
		time.Sleep(time.Second)
		assert.InDelta(t, 2+10+2/0.04, calls(10*time.Second), 3)
		stop()
		all[2].done.Wait()
		for _, p := range all {
			p.stop = func() {}
			p.end(t)
		}
	})
}
