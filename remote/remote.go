// Package remote lets a service configure its clients while they run:
//
//	"Move control to the server! ... Remote configure your clients! Configure
//	periodicity remotely. Maintain a remotely configured client feature
//	blacklist." (Safe Client Behaviour.)
//
// A [Client] looks at a source, such as an address ([NewHTTP]), on a jittered schedule. The source has a small
// [Document] of JSON, of which only format and version are required:
//
//	{
//		"format": 1,
//		"version": 42,
//		"window": {"min": 2, "max": 64, "max_rate": 50, "max_amount_rate": 3333},
//		"retry": {"max_attempts": 4, "max_pause": "30s", "budget_share": 0.1},
//		"schedule": {"period": "5m"},
//		"features_off": ["thumbnails"]
//	}
//
// A publisher checks it with [Parse]. A document is for one service: a program that uses several has a Client for each.
//
// The Apply of [Limiters] and of [Features] brings a document to a part of the program, or a line of your own:
//
//	func(d remote.Document) error { return policy.SetCaps(d.Retry.MaxAttempts, d.Retry.MaxPause) }
//	func(d remote.Document) error { return budget.SetShare(d.Retry.BudgetShare) }
//	func(d remote.Document) error { return polls.SetPeriod(d.Schedule.Period) }
//
// What happens if
//   - the source is away, slow, or answers something else: the document in force stays, at the start the program's own
//     settings. There are no retries, so that a source in trouble gets no more requests than a healthy one.
//   - the document is bad, or has an unknown field, which may be mistyped: the whole document is refused, with an error
//     that names the field, the value and the allowed values. Publish fields for newer clients at another address.
//   - the version is lower than the version in force, or the same with other contents: the document is refused,
//     since a server that lags behind must not undo a later decision. To go back, publish the old contents with a
//     new version. A program that starts again takes any version.
//   - the service is malicious: a valid document can make a client slow, have operations fail at the first refusal, keep
//     1000 requests in flight, or turn features off, and no more. Serve the document by https.
//   - other code changes a setting that the document steers: the next document sets it again. If the document lacks
//     the field, the setting gets its first value: the value of the constructor, or of Limiters.Add.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/internal/check"
	"github.com/aimd-go/aimd/schedule"
)

// The time of a look at a source, the bytes of a header that is read and of an ETag that is kept, at most. Our choice.
const maxLook, maxHeader, maxMark = 10 * time.Second, 64 << 10, 256

// Snapshot is the state of a Client at one moment.
type Snapshot struct {
	// Source is the name of the source, Document what is in force, zero at first.
	Source   string
	Document Document
	// Applied is the time when the document was put in force, Looked that of the last look. Confirmed is that of the last
	// look that found the document in force: contrib/aimdprom and aimdotel have a metric of it, for an alert.
	Applied, Looked, Confirmed time.Time
	// Looks counts the looks at the source, Failures the looks that failed.
	Looks, Failures uint64
	// LastError is the error of the last look; "": no error.
	LastError string
}

// Client puts the good documents of a source in force. It looks at the source on a jittered schedule while Run runs,
// and in Refresh. It is safe for any number of goroutines. Make one with New.
type Client struct {
	source Source
	apply  []func(Document) error
	turn   chan struct{} // has an element during a look, which alone writes due and state
	due    bool          // a function has yet to take the document in force
	runs   atomic.Bool
	state  atomic.Pointer[Snapshot]
}

// New returns a Client that calls each function with each new document, which is valid, one at a time. A function that
// the document does not fit returns an error, preferably a setting.Error, and changes nothing. The others have the
// document nevertheless, and the next look brings it to all again. A function must not call Refresh.
// New panics if the source or a function is nil.
func New(source Source, apply ...func(Document) error) *Client {
	if source == nil || slices.ContainsFunc(apply, func(f func(Document) error) bool { return f == nil }) {
		panic("remote: New with nil, want a source and functions")
	}
	c := &Client{source: source, apply: slices.Clone(apply), turn: make(chan struct{}, 1)}
	c.state.Store(&Snapshot{Source: source.String()})
	return c
}

// Run looks at the source on a schedule of this mean period (package schedule) until the context ends, and returns the
// context's error, or one about the period: 1 s to 24 h; 0 means 5 min, "Once every 5 minutes" (Safe Client Behaviour). While one
// Run runs, another is an error: the source would be asked twice as often.
// If there has been no look, it begins with a look. To hear of each look, call Refresh in a schedule of your own.
func (c *Client) Run(ctx context.Context, period time.Duration) error {
	err := check.Duration("period", &period, 5*time.Minute, time.Second, 24*time.Hour)
	polls, wrong := schedule.New(schedule.Config{Period: period})
	if err = cmp.Or(err, wrong); err != nil {
		return fmt.Errorf("remote: %w", err)
	}
	if c.runs.Swap(true) {
		return errors.New("remote: Run runs already")
	}
	defer c.runs.Store(false)
	if c.Snapshot().Looks == 0 {
		_ = c.Refresh(ctx) // Snapshot has the error
	}
	return polls.Run(ctx, func(ctx context.Context) { _ = c.Refresh(ctx) })
}

// Refresh looks at the source now, or after a look that is under way, for no longer than 10 s. It returns nil if the
// source's document is in force in all parts, otherwise the reason, which Snapshot has too. A program that should not
// begin with its own settings calls Refresh before Run.
func (c *Client) Refresh(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	s := *c.state.Load()
	err := c.look(ctx, &s)
	s.Looks++
	s.Looked, s.LastError = time.Now(), ""
	if err != nil {
		err = fmt.Errorf("remote: %s: %w", s.Source, err)
		s.Failures++
		s.LastError = fmt.Sprintf("%.1000s", err.Error())
	} else {
		s.Confirmed = s.Looked
	}
	c.state.Store(&s)
	return err
}

// Snapshot returns the present state.
func (c *Client) Snapshot() Snapshot {
	s := *c.state.Load()
	s.Document = s.Document.clone()
	return s
}

// look fetches a document, and puts it in force if it is good and new.
func (c *Client) look(ctx context.Context, s *Snapshot) error {
	ctx, cancel := context.WithTimeout(ctx, maxLook)
	defer cancel()
	data, err := c.source.Fetch(ctx)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	d, err := parse(data)
	tomorrow := uint64(time.Now().Add(24 * time.Hour).UnixMicro())
	switch {
	case err != nil:
		return err
	case d.Version > tomorrow:
		return check.Wrong("version", d.Version, "%d at most, which is tomorrow in microseconds since 1970", tomorrow)
	case d.Version < s.Document.Version:
		return check.Wrong("version", d.Version, "%d, which is in force, or more", s.Document.Version)
	case d.Version > s.Document.Version:
		s.Document, s.Applied, c.due = d, time.Now(), true
	case !reflect.DeepEqual(d, s.Document):
		return check.Wrong("version", fmt.Sprint(d.Version, " with other contents"), "more than %d, which is in force", d.Version)
	}
	for _, apply := range c.apply {
		if c.due {
			err = cmp.Or(err, apply(d.clone()))
		}
	}
	c.due = err != nil
	return err
}

// Source is the source of documents of one Client: NewHTTP, or a type of your own, such as a file.
type Source interface {
	// Fetch returns the present document. One goroutine at a time calls it. It must end when ctx ends, and should
	// read at most 256 KiB.
	Fetch(ctx context.Context) ([]byte, error)
	// String names the source in errors and in Snapshot. It holds no secrets.
	String() string
}

// webSource is the Source of NewHTTP: its last document, and the ETag of it, or "".
type webSource struct {
	url    *url.URL
	client http.Client
	header http.Header
	last   []byte
	mark   string
}

// NewHTTP returns a source that fetches the document at an address with GET, and with the last ETag in
// If-None-Match: an unchanged document is a 304 without a body (RFC 9110, section 13.1.2). It reads a 200 of any type,
// 256 KiB after decompression.
//
// The client sends the requests; nil means a client that keeps no connection open between fetches. Unless the
// client has a CheckRedirect, no redirect is followed, since the next host could read the header. The header, such
// as "Authorization", is sent with each request, except Accept, Accept-Encoding and If-None-Match. It may be nil.
//
// The source's name is the address without user, password and query.
func NewHTTP(address string, client *http.Client, header http.Header) (Source, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("remote: address: %w", errors.Unwrap(err)) // without the address, which may hold a secret
	}
	s := &webSource{url: u, header: http.Header{}}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("remote: %w", check.Wrong("address", strconv.Quote(s.String()), "one that begins with http:// or https:// and a host"))
	}
	maps.Copy(s.header, header.Clone())
	s.header.Set("Accept", "application/json")
	s.header.Del("Accept-Encoding") // with one of the user's the transport would leave the answer compressed
	s.client.Transport = &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeader,
	}
	if client != nil {
		s.client = *client
	}
	if s.client.CheckRedirect == nil {
		s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return s, nil
}

// String is the address without user, password and query.
func (s *webSource) String() string {
	return (&url.URL{Scheme: s.url.Scheme, Host: s.url.Host, Path: s.url.Path}).String()
}

// Fetch implements Source.
func (s *webSource) Fetch(ctx context.Context) ([]byte, error) {
	req := (&http.Request{Method: http.MethodGet, URL: s.url, Header: s.header.Clone()}).WithContext(ctx)
	if req.Header.Del("If-None-Match"); s.mark != "" {
		req.Header.Set("If-None-Match", s.mark)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, errors.Unwrap(err) // without the address
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && s.mark != "":
		return s.last, nil
	case resp.StatusCode != http.StatusOK: // without the words of resp.Status, which are the server's
		return nil, fmt.Errorf("status: %d %s is not allowed, want 200", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxSize+1)) // parse refuses what is longer than maxSize
	if err != nil {
		return nil, err
	}
	s.last, s.mark = data, resp.Header.Get("ETag")
	if len(s.mark) > maxMark || strings.ContainsFunc(s.mark, unicode.IsControl) { // no request could have it
		s.mark = ""
	}
	return data, nil
}
