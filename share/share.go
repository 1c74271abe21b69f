package share

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/internal/fleet"
	"github.com/aimd-go/aimd/window"
)

// Config has the settings of Join.
type Config struct {
	// Store is the place where the processes meet. The processes of one store, by its name, are one fleet: have a name
	// for each limit.
	Store Store
	// Weight is the part of this process for each part of one with a weight of 1: 0.01 to 100; 0 means 1.
	Weight float64
	// Logger gets a line when the share is from elsewhere (aimd.Share.Mode), and when this process leads; nil: slog.Default().
	Logger *slog.Logger
}

// Fleet is this process in a fleet. Make one with Join. It is safe for any number of goroutines.
type Fleet struct {
	config Config
	id     string
	made   time.Time
	ctx    context.Context
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	limiter *aimd.Limiter
	member  fleet.Member
	// said is the latest message. apart is the store's time less the time since made, and delay the time of a call.
	said         fleet.Message
	apart, delay time.Duration
	// heard is the time of the store's last answer, away the error of the last call.
	heard time.Time
	away  error
	// late is the longest time of late between two reports, and reported that of the last.
	late, reported time.Duration
	// rests: the process has had no work for a while, since worked, when it had sent so much. woken is told of the next answer.
	rests  bool
	sent   float64
	worked time.Duration
	woken  chan struct{}
	// leads is the run by which the process leads, 0: it does not.
	leads  int64
	logged string
}

// The times of a process, next to the times of internal/fleet. Our choice.
const (
	// hello is the longest that Join waits for the store, and goodbye Close.
	hello, goodbye = 2 * time.Second, time.Second
	// After tired without work a process rests: it reports once in resting. A program may have a fleet for each of its customers.
	tired, resting = 10 * time.Second, time.Second
)

var errNoNew = errors.New("share: New: the fleet has its limiter, or is closed; want one Join for each limiter")

// Join makes this process one of a fleet; call New then. A store that is away is no error: Logger gets a line, and the limiter
// a law of its own until the store is there. It is an error if a setting is wrong, and if the store answers and refuses
// (ErrRefused). Join waits for the store, for two seconds at most.
func Join(c Config) (*Fleet, error) {
	err := check.Number("Weight", &c.Weight, 1, 0.01, 100)
	if c.Store == nil {
		err = check.Nil("Store")
	}
	if err != nil {
		return nil, fmt.Errorf("share: Join: %w", err)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	f := &Fleet{config: c, id: rand.Text()[:12], made: time.Now(), woken: make(chan struct{}, 1)}
	f.member = fleet.NewMember(f.id, c.Weight)
	f.ctx, f.stop = context.WithCancel(context.Background())
	if f.report(fleet.Load{}, hello); errors.Is(f.away, ErrRefused) {
		f.stop()
		return nil, fmt.Errorf("share: Join: %w", f.away)
	}
	return f, nil
}

// New returns the limiter of this process, as aimd.New does, and begins to report. MaxWindow, MaxRate and MaxAmountRate are the
// fleet's, and all processes should have the same. If they differ, the leader's are shared out, and a process has no larger
// part of them than of its own. MinWindow is 1. Call it once for each Join.
func (f *Fleet) New(c aimd.Config) (*aimd.Limiter, error) {
	if c.MinWindow > window.MinWindow {
		return nil, fmt.Errorf("share: New: %w", check.Wrong("MinWindow", c.MinWindow, "1: a share may be less"))
	}
	if c.Law == nil {
		c.Law = aimd.Probe()
	}
	law := c.Law
	apart := f.now()
	c.Law = func(s window.Settings) window.Law {
		l := fleet.Follow(&f.member, law, s)
		if _, follows := l.(*fleet.Follower); !follows {
			return l // it is an error
		}
		return locked{l, f, apart}
	}
	lim, err := aimd.New(c)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	taken := f.limiter != nil || f.ctx.Err() != nil
	if !taken {
		f.limiter = lim
		f.member.Peers(c.Peers)
		f.done.Add(1)
	}
	run := f.leads
	f.mu.Unlock()
	if taken {
		return nil, errNoNew
	}
	f.follow()
	go f.reports(run, law, c.InitialWindow)
	return lim, nil
}

// Close hands the share back. The limiter goes on with a law of its own, by the number of processes. Close waits for the store,
// for a second at most. It may be called more than once. The error is the store's; the share is free after its lease then.
func (f *Fleet) Close() error {
	if f.ctx.Err() != nil {
		return nil
	}
	f.stop()
	f.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	err := f.config.Store.Leave(ctx, f.id)
	f.mu.Lock()
	f.member.Leave()
	f.leads = 0
	f.mu.Unlock()
	f.follow()
	if err != nil {
		return fmt.Errorf("share: Close: %w", err)
	}
	return nil
}
