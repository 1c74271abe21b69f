package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"
	"weak"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/schedule"
	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
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

// Applier brings a document, which is valid, to a part of the program: Limiters.Apply, Features.Apply, or a function of
// your own. If the document does not fit, the Applier returns an error, preferably a setting.Error, and changes nothing.
// A Client calls its appliers with each new document, one at a time. If one returns an error, the others have the
// document nevertheless, and the next look brings it to all again. An Applier must not call Refresh.
type Applier func(Document) error

// Client puts the good documents of a source in force. It looks at the source on a jittered schedule while Run runs,
// and in Refresh. It is safe for any number of goroutines. Make one with New.
type Client struct {
	source   Source
	config   Config
	appliers []Applier
	polls    *schedule.Schedule

	// turn has an element during a look. It guards mark, the source's mark of the document in force, refused, whether
	// an applier refused that document, and the writes of state.
	turn    chan struct{}
	mark    string
	refused bool

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
	polls, wrong := schedule.New(schedule.Config{Period: c.Period})
	if err = cmp.Or(err, wrong); err != nil {
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
// nil if the source's document is in force in all parts, otherwise the reason, which Snapshot has too. A program that should not
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

// offer puts a valid document in force, and brings it to the appliers.
func (c *Client) offer(s *Snapshot, d Document) (err error) {
	tomorrow := uint64(time.Now().Add(24 * time.Hour).UnixMicro())
	switch {
	case d.Version > tomorrow:
		return check.Wrong("version", d.Version, "%d at most, which is tomorrow in microseconds since 1970", tomorrow)
	case d.Version < s.Version:
		return check.Wrong("version", d.Version, "%d, which is in force, or more", s.Version)
	case d.Version > s.Version:
		s.Document, s.Version, s.Applied = d, d.Version, time.Now()
		c.mark = ""
	case !reflect.DeepEqual(d, s.Document):
		return check.Wrong("version", fmt.Sprint(d.Version, " with other contents"), "more than %d, which is in force", s.Version)
	case !c.refused:
		return nil
	}
	for _, apply := range c.appliers {
		err = cmp.Or(err, apply(d.clone()))
	}
	c.refused = err != nil
	return err
}

// Limiters brings documents to limiters: window.min and max, retry.max_attempts and retry.max_pause, which turns
// pauses on. If a document lacks a field, the limiter gets its setting at the time of Add. With a retry.Policy a
// limiter keeps to the lower of both attempt limits: bring the document to the policy too.
//
// Limiters may be added at any time, as an [aimd.Keyed] makes them, and are not kept alive. It is safe for
// any number of goroutines; the observer of a limiter must not call it. The zero value has no limiters.
type Limiters struct {
	mu sync.Mutex
	// all has the limiters, and the settings that each had when it was added. It is guarded by mu, as are most, the size
	// at which the limiters that are no more are forgotten, and document, the one in force, at first zero.
	all      map[weak.Pointer[aimd.Limiter]]aimd.Config
	most     int
	document Document
}

// Add adds a limiter and brings the document in force to it. If the document does not fit, the error says why, and
// the limiter keeps its own settings until the next document. Log the error, and use the limiter anyway.
func (ls *Limiters) Add(l *aimd.Limiter) error {
	if l == nil {
		return fmt.Errorf("remote: %w", check.Nil("limiter"))
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	p, own := weak.Make(l), l.Snapshot().Config
	if _, known := ls.all[p]; known {
		return nil
	}
	if len(ls.all) >= ls.most { // so an Add looks at two others, in the mean
		maps.DeleteFunc(ls.all, func(p weak.Pointer[aimd.Limiter], _ aimd.Config) bool { return p.Value() == nil })
		ls.most = max(64, 2*len(ls.all))
	}
	if ls.all == nil {
		ls.all = map[weak.Pointer[aimd.Limiter]]aimd.Config{}
	}
	ls.all[p] = own
	if ls.document.Version == 0 {
		return nil
	}
	if err := l.Reconfigure(ls.document.over(own)); err != nil {
		return fmt.Errorf("remote: %w", err)
	}
	return nil
}

// Apply is an Applier: it reconfigures the limiters. A limiter that the document does not fit, such as one whose own min
// is above the document's max, keeps its settings. The error is that of one such limiter.
func (ls *Limiters) Apply(d Document) (err error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.document = d
	for p, own := range ls.all {
		if l := p.Value(); l != nil {
			err = cmp.Or(err, l.Reconfigure(d.over(own)))
		}
	}
	return err
}

// over gives a limiter the document's fields, and its own settings for those that the document lacks.
func (d Document) over(own aimd.Config) func(*aimd.Config) {
	return func(c *aimd.Config) {
		c.MinWindow = cmp.Or(d.Window.Min, own.MinWindow)
		c.MaxWindow = cmp.Or(d.Window.Max, own.MaxWindow)
		c.MaxRate = cmp.Or(d.Window.MaxRate, own.MaxRate)
		c.MaxAmountRate = cmp.Or(d.Window.MaxAmountRate, own.MaxAmountRate)
		c.MaxAttempts = cmp.Or(d.Retry.MaxAttempts, own.MaxAttempts)
		c.PauseMax, c.PauseMin = cmp.Or(d.Retry.MaxPause, own.PauseMax), own.PauseMin
		if c.PauseMax > 0 { // else pauses are off
			c.PauseMin = min(c.PauseMin, c.PauseMax)
		}
	}
}

// ErrFeatureOff: the feature of the request is off; the text names it. The service was not asked, and no retry helps:
// limiters count it as neutral and final.
var ErrFeatureOff = verdict.With(errors.New("aimd: feature is off"),
	verdict.Facts{Verdict: verdict.Verdict{Meaning: answer.Final}, Reach: verdict.Unsent})

// Features refuses the requests of features in a document's features_off. A request belongs to the feature of its
// context's tags (tag.WithFeature). A request without a feature is never refused.
//
// Its Apply is an Applier, and it is an attempt.Guard for limiters and policies: each attempt asks it before it is
// sent. It is safe for any number of goroutines. In the zero value no feature is off.
type Features struct {
	off atomic.Pointer[map[string]bool]
}

// Admit returns an error that matches ErrFeatureOff if the context's feature is off.
func (f *Features) Admit(ctx context.Context, _ int) error {
	feature := tag.FromContext(ctx).Feature
	if off := f.off.Load(); off != nil && (*off)[feature] {
		return fmt.Errorf("%w: %q", ErrFeatureOff, feature)
	}
	return nil
}

// Ended is there for attempt.Guard; how attempts end makes no difference.
func (f *Features) Ended(context.Context, window.Outcome) {}

// Apply is an Applier: it refuses the features that the document has, and no others.
func (f *Features) Apply(d Document) error {
	off := make(map[string]bool, len(d.FeaturesOff))
	for _, feature := range d.FeaturesOff {
		off[feature] = true
	}
	f.off.Store(&off)
	return nil
}
