package remote

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/schedule"
)

// Config has the settings of a Client. Zero fields take the documented default.
type Config struct {
	// Period is the mean time between two looks at the source, with jitter (package schedule): 1 s to 24 h; 0 means
	// 5 min, "Once every 5 minutes" (Safe Client Behaviour).
	Period time.Duration
	// Timeout bounds one look at the source: 1 ms to 10 min; 0 means 10 s, our choice.
	Timeout time.Duration
	// Observer is called with the state after each look, by the goroutine that looked. It should be quick, and
	// must not call Refresh. It may be nil.
	Observer func(Snapshot)
}

// Snapshot is the state of a Client at one moment.
type Snapshot struct {
	// Document is in force, and not in JSON; Version is its version. Zero at first.
	Document Document `json:"-"`
	Version  uint64   `json:"version"`
	// Source is the name of the source, Applied the time when the document was put in force.
	Source  string    `json:"source"`
	Applied time.Time `json:"applied,omitzero"`
	// Looked is the time of the last look. Confirmed is the time of the last look that found the document in force.
	Looked    time.Time `json:"looked,omitzero"`
	Confirmed time.Time `json:"confirmed,omitzero"`
	// Looks counts the looks at the source, Failures the looks that failed.
	Looks    uint64 `json:"looks"`
	Failures uint64 `json:"failures"`
	// LastError is the error of the last look; "": no error.
	LastError string `json:"last_error,omitempty"`
}

// Client puts the good documents of a source in force. It looks at the source on a jittered schedule while Run runs,
// and in Refresh. It is safe for any number of goroutines. Make one with New.
type Client struct {
	source   Source
	config   Config
	appliers []Applier
	polls    *schedule.Schedule

	// turn has an element during a look. It guards mark, the source's mark of the document in force, and the
	// writes of state.
	turn chan struct{}
	mark string

	mu    sync.Mutex
	state Snapshot // guarded by mu
}

// New returns a Client that brings the source's documents to the appliers, or an error that names the wrong
// setting, its value and the allowed values.
func New(source Source, c Config, appliers ...Applier) (*Client, error) {
	err := cmp.Or(
		check.Duration("Period", &c.Period, 5*time.Minute, time.Second, 24*time.Hour),
		check.Duration("Timeout", &c.Timeout, 10*time.Second, time.Millisecond, 10*time.Minute),
	)
	switch {
	case source == nil:
		err = check.Nil("source")
	case slices.ContainsFunc(appliers, func(a Applier) bool { return a == nil }):
		err = check.Nil("applier")
	}
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	polls, err := schedule.New(schedule.Config{Period: c.Period})
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	return &Client{
		source: source, config: c, appliers: slices.Clone(appliers), polls: polls, turn: make(chan struct{}, 1),
		state: Snapshot{Source: source.String()},
	}, nil
}

// Run looks at the source at each time of its schedule until the context ends, and returns the context's error. If
// there has been no look, it begins with a look. While another Run has not returned, it returns another error. The
// document stays in force.
func (c *Client) Run(ctx context.Context) error {
	if c.Snapshot().Looks == 0 {
		_ = c.Refresh(ctx) // Snapshot has the error
	}
	return c.polls.Run(ctx, func(ctx context.Context) { _ = c.Refresh(ctx) })
}

// Refresh looks at the source now, or after a look that is under way, for no longer than Config.Timeout. It returns
// nil if the source's document is in force, otherwise the reason, which Snapshot has too. A program that should not
// begin with its own settings calls Refresh before Run.
func (c *Client) Refresh(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s := c.Snapshot()
	err := c.look(ctx, &s)
	s.Looks++
	s.Looked = time.Now()
	if err != nil {
		s.Failures++
		s.LastError = cut(err.Error(), 1000)
	} else {
		s.LastError, s.Confirmed = "", s.Looked
	}
	c.mu.Lock()
	c.state = s
	c.mu.Unlock()
	if observe := c.config.Observer; observe != nil {
		observe(c.Snapshot())
	}
	return err
}

// Snapshot returns the present state.
func (c *Client) Snapshot() Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state
	s.Document = s.Document.clone()
	return s
}

// look looks at the source once.
func (c *Client) look(ctx context.Context, s *Snapshot) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	data, mark, err := c.source.Fetch(ctx, c.mark)
	if err = cmp.Or(err, ctx.Err()); err != nil || mark != "" && mark == c.mark {
		return err
	}
	d, err := parse(data)
	if err == nil {
		err = c.offer(s, d)
	}
	if err != nil {
		return fmt.Errorf("remote: %s: %w", c.source, err)
	}
	c.mark = mark
	return nil
}

// offer puts a valid document in force, whole or not at all.
func (c *Client) offer(s *Snapshot, d Document) error {
	tomorrow := uint64(time.Now().Add(24 * time.Hour).UnixMicro())
	switch {
	case d.Version > tomorrow:
		return check.Wrong("version", d.Version, "%d at most, which is tomorrow in microseconds since 1970", tomorrow)
	case d.Version < s.Version:
		return check.Wrong("version", d.Version, "%d, which is in force, or more", s.Version)
	case d.Version > s.Version:
		for i, apply := range c.appliers {
			if err := apply(d.clone()); err != nil {
				for _, back := range c.appliers[:i] {
					_ = back(s.Document.clone()) // it fitted before
				}
				return err
			}
		}
		s.Document, s.Version, s.Applied = d, d.Version, time.Now()
	case !reflect.DeepEqual(d, s.Document):
		return check.Wrong("version", fmt.Sprint(d.Version, " with other contents"), "more than %d, which is in force", s.Version)
	}
	return nil
}
