package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/benbjohnson/clock"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/schedule"
)

// ErrClosed is returned by Start and Refresh after Close.
var ErrClosed = errors.New("remote: closed")

// Settings are for New. Zero fields take the documented default.
type Settings struct {
	// Period is the mean time from one look at the source to the next, which are jittered (package schedule):
	// 1 s to 24 h; 0 means 5 min, "Once every 5 minutes" (Safe Client Behaviour).
	Period time.Duration
	// Timeout bounds one look at the source: 1 ms to 10 min; 0 means 10 s, our choice.
	Timeout time.Duration
	// Observer is called with the state after each look, by the goroutine that looked. It should be quick, and
	// must not call Refresh or Close. It may be nil.
	Observer func(Snapshot)
	// Clock is the source of time; nil: the real one.
	Clock clock.Clock
}

// Snapshot is how a Client stood at one moment.
type Snapshot struct {
	// Document is in force, Version is its version; zero at first.
	Document Document `json:"document,omitzero"`
	Version  uint64   `json:"version"`
	// Source is the name of the source, Applied the time when the document was put in force.
	Source  string    `json:"source"`
	Applied time.Time `json:"applied,omitzero"`
	// Looked is the time of the last look, Confirmed the time of the last one that found the document in force.
	Looked    time.Time `json:"looked,omitzero"`
	Confirmed time.Time `json:"confirmed,omitzero"`
	// Looks counts the looks at the source, Failures the looks that failed.
	Looks    uint64 `json:"looks"`
	Failures uint64 `json:"failures"`
	// LastError is the error of the last look; "": no error.
	LastError string `json:"last_error,omitempty"`
}

// String returns the snapshot in one line.
func (s Snapshot) String() string {
	return fmt.Sprintf("version=%d source=%q looks=%d failures=%d error=%q",
		s.Version, s.Source, s.Looks, s.Failures, s.LastError)
}

// Client puts the good documents of a source in force: it looks at the source at Start and then on a jittered
// schedule. It is safe for any number of goroutines. Make one with New.
type Client struct {
	source   Source
	settings Settings
	appliers []Applier
	polls    *schedule.Schedule

	// closing ends when Close is called.
	closing context.Context
	close   context.CancelFunc

	// turn has an element during a look. It guards mark, the source's mark of the document in force, and the
	// writes of state.
	turn chan struct{}
	mark string

	started atomic.Bool
	polling sync.WaitGroup

	mu    sync.Mutex
	state Snapshot // guarded by mu
}

// New returns a Client that brings the source's documents to the appliers, or an error that names the setting
// that is wrong, its value and the values allowed. It begins at Start.
func New(source Source, s Settings, appliers ...Applier) (*Client, error) {
	if s.Clock == nil {
		s.Clock = clock.New()
	}
	err := cmp.Or(
		setting.Duration("Period", &s.Period, 5*time.Minute, time.Second, 24*time.Hour),
		setting.Duration("Timeout", &s.Timeout, 10*time.Second, time.Millisecond, 10*time.Minute),
	)
	switch {
	case source == nil:
		err = setting.Nil("source")
	case slices.Contains(appliers, nil):
		err = setting.Nil("applier")
	}
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	polls, err := schedule.New(schedule.Config{Period: s.Period, Clock: s.Clock})
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	c := &Client{source: source, settings: s, appliers: slices.Clone(appliers), polls: polls, turn: make(chan struct{}, 1)}
	c.closing, c.close = context.WithCancel(context.Background())
	c.state.Source = source.String()
	return c, nil
}

// Start looks at the source once, and from then on at each time of its schedule until Close. It returns after
// the first look, which ctx and Settings.Timeout bound. If the source has no good document, Start returns no
// error: Snapshot has the reason. It returns ErrClosed after Close, and an error if it is called a second time.
func (c *Client) Start(ctx context.Context) error {
	again := c.started.Swap(true)
	if c.closing.Err() != nil {
		return ErrClosed
	} else if again {
		return errors.New("remote: started already")
	}
	_ = c.Refresh(ctx) // Snapshot has the error
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Err() == nil {
		c.polling.Go(func() { // until Close
			_ = c.polls.Run(c.closing, func(ctx context.Context) { _ = c.Refresh(ctx) })
		})
	}
	return nil
}

// Refresh looks at the source now, or after a look that is under way. It returns nil if the source's document
// is in force, otherwise the reason.
func (c *Client) Refresh(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closing.Done():
		return ErrClosed
	}
	s := c.Snapshot()
	err := c.look(ctx, &s)
	if errors.Is(err, ErrClosed) {
		return err
	}
	c.mu.Lock()
	c.state = s
	c.mu.Unlock()
	if observe := c.settings.Observer; observe != nil {
		observe(c.Snapshot())
	}
	return err
}

// Close ends the looks, and waits for a look under way. The document stays in force. It may be called more
// than once, but not by an Applier, a Source or the Observer.
func (c *Client) Close() {
	c.mu.Lock()
	c.close()
	c.mu.Unlock()
	c.polling.Wait()
	c.turn <- struct{}{} // a Refresh under way has ended
	<-c.turn
}

// Snapshot returns how things stand.
func (c *Client) Snapshot() Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state
	s.Document = s.Document.clone()
	return s
}

// look looks at the source once.
func (c *Client) look(ctx context.Context, s *Snapshot) error {
	if c.closing.Err() != nil {
		return ErrClosed
	}
	ctx, cancel := c.settings.Clock.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()

	data, mark, err := c.source.Fetch(ctx, c.mark)
	if c.closing.Err() != nil {
		return ErrClosed
	}
	if err == nil && (mark == "" || mark != c.mark) {
		var d Document
		if d, err = parse(data); err == nil {
			err = c.offer(s, d, mark)
		}
		if err != nil {
			err = fmt.Errorf("remote: %s: %w", c.source, err)
		}
	}
	s.Looks++
	s.Looked = c.settings.Clock.Now()
	if err != nil {
		s.Failures++
		s.LastError = cut(err.Error(), 1000)
		return err
	}
	s.LastError, s.Confirmed = "", s.Looked
	return nil
}

// offer puts a valid document in force, whole or not at all.
func (c *Client) offer(s *Snapshot, d Document, mark string) error {
	switch {
	case d.Version < s.Version:
		return setting.Wrong("version", d.Version, "%d, which is in force, or more", s.Version)
	case d.Version == s.Version && !reflect.DeepEqual(d, s.Document):
		return setting.Wrong("version", fmt.Sprint(d.Version, " with other contents"), "more than %d, which is in force", s.Version)
	case d.Version > s.Version:
		for _, a := range c.appliers {
			if err := a.Check(d.clone()); err != nil {
				return err
			}
		}
		for _, a := range c.appliers {
			a.Apply(d.clone())
		}
		s.Document, s.Version, s.Applied = d, d.Version, c.settings.Clock.Now()
	}
	c.mark = mark
	return nil
}
