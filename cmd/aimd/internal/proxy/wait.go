package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aimd-go/aimd/queue"
)

var (
	errHold   = errors.New("the time of --hold is over")
	errSilent = fmt.Errorf("the service sent and took no byte for too long: %w", os.ErrDeadlineExceeded)
)

// patience bounds a request that fails again and again while others succeed, as httplimit does without a deadline.
const patience = 15 * time.Minute

// wait is the context of a request. Its timer bounds how long the request waits while no request of its limiter
// succeeds, in the queue and between attempts. Then it bounds the time without a byte of the answer. An attempt in
// flight it leaves alone.
type wait struct {
	context.Context
	cancel context.CancelCauseFunc
	proxy  *proxy
	// key is the name of the request's limiter, kept the body of the request.
	key  string
	kept kept
	// host and scheme are those by which the program asked.
	host, scheme string
	// early: the program knows an answer before the answer, like 103. One of HTTP/1.0 would take it for the answer.
	early bool
	// uploads: the request has a body, whose bytes have a deadline.
	uploads bool

	mu    sync.Mutex
	timer *time.Timer
	// since is the time when the request began to wait, or the time of the last byte; failed is the time when its first
	// attempt failed.
	since, failed time.Time
	// flight is the attempt in flight, which began at the time flown and is in pulse over.
	flight queue.Item[*wait]
	flown  time.Time
	over   *pulse
	// flying: an attempt is in flight; fine: the service took the request; sized: the length of its answer is known.
	flying, fine, sized bool
	// leaves is the time when the program leaves without an answer, by its own words; zero: it does
	// not say. due ends the wait then.
	leaves time.Time
	due    *time.Timer
	// answer is the body of the answer that the program gets.
	answer io.ReadCloser
	// last is how the last attempt failed.
	last error
	// refusal is the head of the last answer that the program did not get, if it was a refusal.
	refusal http.Header
}

type waitKey struct{}

func waitOf(r *http.Request) *wait { return r.Context().Value(waitKey{}).(*wait) }

func newWait(r *http.Request, p *proxy, key string) *wait {
	w := &wait{proxy: p, key: key, host: r.Host, scheme: "http", early: r.ProtoAtLeast(1, 1)}
	if strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		w.scheme = "https" // something in front of the proxy ends TLS
	}
	w.Context, w.cancel = context.WithCancelCause(r.Context())
	if d := patienceOf(r.Header); d > 0 {
		w.leaves = time.Now().Add(d)
		w.due = time.AfterFunc(d, func() { w.cancel(context.DeadlineExceeded) })
	}
	return w
}

// begin begins the hold.
func (w *wait) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since, w.timer = time.Now(), time.AfterFunc(w.proxy.hold, w.late)
}

// late looks whether the time is over: the timer may have fired just before the wait went on.
func (w *wait) late() {
	w.mu.Lock()
	defer w.mu.Unlock()
	left, reason := w.left(), errHold
	switch {
	case w.answer != nil:
		left, reason = w.proxy.idle-time.Since(w.since), errSilent
	case w.flying:
		return
	}
	if left > 0 {
		w.timer.Reset(left)
	} else {
		w.cancel(reason)
	}
}

// left is the rest of the hold, or of --idle if the service takes so long for its answers. Call it with mu.
func (w *wait) left() time.Duration {
	most, p := w.proxy.hold, w.pulse()
	if p.works(most / 2) {
		most = max(most, w.proxy.idle)
	}
	return most - time.Since(later(w.since, p.at()))
}

func (w *wait) pulse() *pulse {
	if p, ok := w.proxy.pulses.Load(w.key); ok {
		return p.(*pulse)
	}
	return &pulse{made: time.Now()}
}

func (w *wait) end() {
	for _, t := range []*time.Timer{w.timer, w.due} {
		if t != nil {
			t.Stop()
		}
	}
	w.cancel(nil)
	if w.answer != nil {
		_ = w.answer.Close() // a 101 that httputil refuses stays open
	}
	w.proxy.memory.free(&w.kept)
}

// limit is the time when a request that has failed is not sent again.
func (w *wait) limit() time.Time { return w.failed.Add(max(w.proxy.hold, patience)) }

// Deadline is the deadline of a request that has failed, or of its program if that is sooner.
func (w *wait) Deadline() (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, bounded := w.limit(), !w.failed.IsZero() && !w.flying
	if !w.leaves.IsZero() && (!bounded || w.leaves.Before(at)) {
		at, bounded = w.leaves, true
	}
	return at, bounded && w.answer == nil
}

// Err tells a program that left at its time from one that was cut off.
func (w *wait) Err() error {
	if err := context.Cause(w.Context); err == context.DeadlineExceeded {
		return err
	}
	return w.Context.Err()
}

func (w *wait) Value(key any) any {
	if key == (waitKey{}) {
		return w
	}
	return w.Context.Value(key)
}

// fly begins an attempt.
func (w *wait) fly() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer.Stop()
	if !w.failed.IsZero() && (w.left() <= 0 || time.Now().After(w.limit())) {
		w.cancel(errHold) // or httplimit would try again for a quarter of an hour
		return w.last
	}
	if err := context.Cause(w); err != nil {
		return err
	}
	w.flying, w.flown, w.over = true, time.Now(), w.pulse()
	w.over.fly(w)
	return nil
}

// land notes how the attempt ended. If another follows, its wait begins once this answer is dropped.
func (w *wait) land(resp *http.Response, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over.land(w) // a limiter without work may have gone, and another come
	if w.refusal = nil; resp == nil {
		w.lost(err)
		w.timer.Reset(max(w.left(), time.Millisecond))
		return
	}
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		w.lost(errors.New(resp.Status))
	case resp.Body == http.NoBody, resp.StatusCode == http.StatusSwitchingProtocols: // another success may be a refusal
		return
	}
	resp.Body = &dropped{resp.Body, w, resp}
}

// lost notes that the attempt has failed. Call it with mu.
func (w *wait) lost(err error) {
	if w.flying, w.last = false, err; w.failed.IsZero() {
		w.failed = time.Now()
	}
	if w.pulse().fails() {
		w.proxy.log.Warn("no request succeeds", "limiter", w.key, "for", silent, "err", err)
	}
}

var (
	// loaded are the statuses from 500 on of a service that has too much to do.
	loaded = []int{http.StatusServiceUnavailable, 529}
	// refusals are the statuses below 500 of a service that may not be well.
	refusals = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests}
)

// dropped is the body of an answer that the program may not get.
type dropped struct {
	io.ReadCloser
	wait *wait
	resp *http.Response
}

// Close begins the wait for another attempt, unless this is the last answer.
func (d *dropped) Close() error {
	d.wait.mu.Lock()
	if d.wait.answer == nil {
		d.wait.lost(errors.New(d.resp.Status))
		if s, h := d.resp.StatusCode, d.resp.Header; s < http.StatusInternalServerError || slices.Contains(loaded, s) || h.Get("Retry-After") != "" {
			d.wait.refusal, d.wait.since = h, d.wait.since.Add(time.Since(d.wait.flown)) // the time in flight was no wait
		}
		d.wait.timer.Reset(max(d.wait.left(), time.Millisecond))
	}
	d.wait.mu.Unlock()
	return d.ReadCloser.Close()
}

// watched is a wait as the body of its answer. It ends the request if the service sends no byte for so long. From
// the answer on, the hold has no effect, and the body of the request is not needed.
type watched wait

func (w *wait) watch(resp *http.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.due != nil {
		w.due.Stop() // the program waits for the head, and then for each part
	}
	w.answer, w.since = resp.Body, time.Now()
	if resp.StatusCode < http.StatusInternalServerError && !slices.Contains(refusals, resp.StatusCode) {
		w.fine, w.sized = true, resp.ContentLength >= 0
		w.pulse().beat()
	}
	w.timer.Reset(w.proxy.idle)
	resp.Body = (*watched)(w)
	if s, ok := w.answer.(stream); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = switched{(*watched)(w), s}
	}
	w.proxy.memory.free(&w.kept)
}

// passed notes that a byte has passed. It is a life of the request, and of its limiter if the answer comes to an end by
// itself or has just ended. An event stream takes no place of the requests that wait, and serves no such request.
func (w *wait) passed(ended bool) {
	w.mu.Lock()
	w.since = time.Now()
	w.mu.Unlock()
	if w.fine && (w.sized || ended) {
		w.pulse().beat()
	}
}

func (b *watched) Read(p []byte) (int, error) {
	(*wait)(b).passed(false)
	n, err := b.answer.Read(p)
	(*wait)(b).passed(err == io.EOF)
	return n, err
}

func (b *watched) Close() error { return b.answer.Close() }

type stream interface {
	io.Writer
	CloseWrite() error
}

// switched is the body of a 101: a connection, which ends if no byte passes either way for so long.
type switched struct {
	*watched
	stream
}

func (s switched) Write(p []byte) (int, error) {
	(*wait)(s.watched).passed(false)
	return s.stream.Write(p)
}
