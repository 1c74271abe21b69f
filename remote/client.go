package remote

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
	"github.com/aimd-go/aimd/schedule"
)

// ErrClosed is returned by Start and Refresh after Close.
var ErrClosed = errors.New("remote: closed")

// Client keeps a program's settings as its source says. It looks at the source at
// Start and then on a jittered schedule, and puts each new good document in force:
// whole, or not at all. Whatever else the source does changes nothing.
//
// It is safe for any number of goroutines. Make one with New.
type Client struct {
	source   Source
	settings Settings
	appliers []Applier
	polls    *schedule.Schedule

	// closing ends when Close is called.
	closing context.Context
	close   context.CancelFunc
	// turn has an element while the source is looked at; it guards mark and last.
	turn chan struct{}
	// mark is what the source knows the document in force by.
	mark string
	// last is what was put in force last, for a store that could not take it.
	last record

	mu      sync.Mutex
	state   Snapshot // guarded by mu, as is all below
	started bool
	polling sync.WaitGroup
}

// New returns a Client that brings the source's documents to the appliers, or an
// error that names the setting that is wrong, its value and what is allowed. It
// does nothing before Start.
func New(source Source, s Settings, appliers ...Applier) (*Client, error) {
	s, err := s.withDefaults()
	file, isFile := source.(*fileSource)
	switch {
	case source == nil:
		err = setting.Nil("source")
	case slices.Contains(appliers, nil):
		err = setting.Nil("applier")
	case err == nil && isFile && s.Store != "" && filepath.Clean(s.Store) == filepath.Clean(file.path):
		err = setting.Wrong("store", strconv.Quote(s.Store), "another file than the source")
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

// Start puts the stored document in force, if there is one, looks at the source
// once, and then goes on doing so until Close. It returns after the first look,
// within Settings.Timeout or when ctx ends, whichever is first; ctx bounds that
// look and nothing else.
//
// That the source is away, or has nothing good, is no error of Start: the
// program runs with the stored document, or with its own settings, and Snapshot
// tells. It returns an error after Close, ErrClosed, and if it is called a second time.
func (c *Client) Start(ctx context.Context) error {
	c.mu.Lock()
	err := c.closing.Err()
	switch {
	case err != nil:
		err = ErrClosed
	case c.started:
		err = errors.New("remote: started already")
	default:
		c.started = true
		c.polling.Add(1)
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	started := false
	defer func() {
		if !started { // an applier, or the observer, panicked
			c.polling.Done()
		}
	}()
	c.restore()
	_ = c.Refresh(ctx) // Snapshot tells
	started = true
	go func() {
		defer c.polling.Done()
		// It ends with the context.
		_ = c.polls.Run(c.closing, func(ctx context.Context) { _ = c.Refresh(ctx) })
	}()
	return nil
}

// Refresh looks at the source now, after a look that is under way. It returns nil if
// the document in force is now the one that the source has, and else why not.
func (c *Client) Refresh(ctx context.Context) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	err := c.look(ctx)
	if observe := c.settings.Observer; observe != nil && !errors.Is(err, ErrClosed) {
		observe(c.Snapshot())
	}
	return err
}

// Close ends the looks at the source and returns when none is under way. The document
// stays in force. It may be called more than once, but not by an Applier, a Source or
// the Observer.
func (c *Client) Close() {
	c.mu.Lock()
	c.close()
	c.mu.Unlock()
	c.polling.Wait()
	// A Refresh under way has ended when the turn is free.
	c.turn <- struct{}{}
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

// take takes the turn.
func (c *Client) take(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closing.Done():
		return ErrClosed
	}
	if c.closing.Err() != nil {
		<-c.turn
		return ErrClosed
	}
	return nil
}

// restore puts the stored document in force.
func (c *Client) restore() {
	if c.settings.Store == "" || c.take(context.Background()) != nil {
		return
	}
	defer func() { <-c.turn }()
	r, err := readStore(c.settings.Store, c.source.String())
	if err == nil && r != nil {
		err = c.offered(r.Document, r.Mark, c.settings.Store)
	}
	c.stored(err)
}

// look looks at the source once, and gives the turn back.
func (c *Client) look(ctx context.Context) error {
	defer func() { <-c.turn }()
	ctx, cancel := c.settings.Clock.WithTimeout(ctx, c.settings.Timeout)
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()

	data, mark, err := c.source.Fetch(ctx, c.mark)
	if c.closing.Err() != nil {
		return ErrClosed
	}
	now := c.settings.Clock.Now()
	switch {
	case errors.Is(err, ErrUnchanged) && c.Snapshot().Version > 0:
		err = nil
	case err == nil:
		err = c.fetched(data, mark, now)
	}
	c.note(func(s *Snapshot) {
		s.Looks++
		s.Looked = now
		s.LastError = ""
		if err != nil {
			s.Failures++
			s.LastError = cut(err.Error(), 1000)
		} else {
			s.Confirmed = now
		}
	})
	if err == nil && c.Snapshot().StoreError != "" && c.last.Document.Version > 0 {
		c.keep(c.last) // the disk may take it now
	}
	return err
}

// fetched takes what the source sent.
func (c *Client) fetched(data []byte, mark string, now time.Time) error {
	d, err := parse(data)
	if err == nil {
		before := c.Snapshot().Version
		if err = c.offered(d, mark, c.source.String()); err == nil && d.Version != before {
			c.last = record{Source: c.source.String(), Mark: mark, Fetched: now, Document: d}
			c.keep(c.last)
		}
	}
	if err != nil {
		return fmt.Errorf("remote: %s: %w", c.source, err)
	}
	return nil
}

// offered puts a valid document in force, or returns why not and changes nothing.
// The caller holds the turn.
func (c *Client) offered(d Document, mark, from string) error {
	s := c.Snapshot()
	switch {
	case d.Version < s.Version:
		return wrong("version", fmt.Sprint(d.Version), fmt.Sprintf("%d, which is in force, or more", s.Version))
	case d.Version == s.Version && !d.equal(s.Document):
		return wrong("version", fmt.Sprintf("%d with other contents than what is in force by that version", d.Version), fmt.Sprintf("more than %d", s.Version))
	case d.Version == s.Version:
		c.mark = mark
		return nil
	}
	for _, a := range c.appliers {
		if err := a.Check(d.clone()); err != nil {
			return err
		}
	}
	for _, a := range c.appliers {
		a.Apply(d.clone())
	}
	c.mark = mark
	c.note(func(s *Snapshot) {
		s.Document, s.Version, s.From, s.Applied = d, d.Version, from, c.settings.Clock.Now()
	})
	return nil
}

// keep stores the document for the next start. If that fails the document is in
// force all the same.
func (c *Client) keep(r record) {
	if c.settings.Store == "" {
		return
	}
	c.stored(writeStore(c.settings.Store, r))
}

// stored notes how reading or writing the store went.
func (c *Client) stored(err error) {
	c.note(func(s *Snapshot) {
		s.StoreError = ""
		if err != nil {
			s.StoreError = "remote: store: " + err.Error()
		}
	})
}

func (c *Client) note(change func(*Snapshot)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.state)
}
