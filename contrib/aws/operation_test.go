package aimdaws_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/internal/fakes3"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/retry"
	"github.com/aimd-go/aimd/window"
)

// gate is a script that holds every request until it is told what to do with it.
type gate struct {
	arrived chan string // paths
	refuse  chan bool
}

func newGate() gate { return gate{make(chan string), make(chan bool)} }

func (g gate) script(w http.ResponseWriter, r *http.Request) bool {
	g.arrived <- r.URL.Path
	if <-g.refuse {
		fakes3.Refuse(w, r)
		return true
	}
	return false
}

func TestRefusedOperationGoesBeforeNewOnes(t *testing.T) {
	synctest.Test(t, testRefusedOperationGoesBeforeNewOnes)
}

func testRefusedOperationGoesBeforeNewOnes(t *testing.T) {
	g := newGate()
	s := newStore(t, scripted(g.script))
	l := oneSlot(t)
	c := s.client(l)
	var wg sync.WaitGroup
	start := func(key string) {
		wg.Go(func() {
			if err := put(t.Context(), c, key, key); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		})
	}
	start("first")
	require.Equal(t, "/bucket/first", <-g.arrived)
	start("second")
	settled(t, l, queued(1))
	start("third")
	settled(t, l, queued(2))

	g.refuse <- true
	require.Equal(t, "/bucket/second", <-g.arrived, "the slot goes to the next one while the refused one waits")
	time.Sleep(time.Second) // longer than its delay
	settled(t, l, queued(2))
	g.refuse <- false
	require.Equal(t, "/bucket/first", <-g.arrived)
	g.refuse <- false
	require.Equal(t, "/bucket/third", <-g.arrived)
	g.refuse <- false
	wg.Wait()
	requireOutcomes(t, l, outcomes{successes: 3, overloads: 1})
}

func TestSigningComesAfterTheWait(t *testing.T) { synctest.Test(t, testSigningComesAfterTheWait) }

func testSigningComesAfterTheWait(t *testing.T) {
	g := newGate()
	s := newStore(t, scripted(g.script))
	l := oneSlot(t)
	var signed atomic.Int64
	var order []string
	c := s.client(l, func(cfg *aws.Config) {
		cfg.APIOptions = append(cfg.APIOptions, func(stack *middleware.Stack) error {
			order = stack.Finalize.List()
			return nil
		}, after("Signing", func() { signed.Inc() }))
	})
	var wg sync.WaitGroup
	wg.Go(func() { _ = put(t.Context(), c, "first", "1") })
	<-g.arrived
	require.EqualValues(t, 1, signed.Load())
	wg.Go(func() { _ = put(t.Context(), c, "second", "2") })
	settled(t, l, queued(1))
	require.EqualValues(t, 1, signed.Load(), "nothing is signed while it waits")
	g.refuse <- false
	<-g.arrived
	require.EqualValues(t, 2, signed.Load())
	g.refuse <- false
	wg.Wait()
	at := slices.IndexFunc(order, func(id string) bool { return strings.HasPrefix(id, "aimd") })
	require.Equal(t, slices.Index(order, "Retry")+1, at, "right after Retry in %v", order)
}

// after is an API option that calls f at that place of the Finalize step.
func after(id string, f func()) func(*middleware.Stack) error {
	return func(stack *middleware.Stack) error {
		return stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("test", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (
			middleware.FinalizeOutput, middleware.Metadata, error,
		) {
			f()
			return next.HandleFinalize(ctx, in)
		}), id, middleware.After)
	}
}

func TestContextOverBeforeTheStart(t *testing.T) {
	s := newStore(t)
	l := newLimiter(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, put(ctx, s.client(l), "k", "x"), context.Canceled)
	requests, _ := s.Counts()
	require.Zero(t, requests)
	requireOutcomes(t, l, outcomes{})
}

func TestCancelledWhileQueued(t *testing.T) { synctest.Test(t, testCancelledWhileQueued) }

func testCancelledWhileQueued(t *testing.T) {
	s := newStore(t)
	l := oneSlot(t)
	p, err := l.Acquire(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- put(ctx, s.client(l), "k", "x") }()
	settled(t, l, queued(1))
	cancel()
	err = <-done
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "gave up before the first attempt")
	require.NoError(t, p.Done(window.Success))
	requireOutcomes(t, l, outcomes{successes: 1})
}

func TestCancelledInFlight(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newStore(t, scripted(func(_ http.ResponseWriter, r *http.Request) bool {
		cancel()
		hang(r)
		return true
	}))
	l := newLimiter(t)
	_, err := get(ctx, s.client(l), "k")
	require.ErrorIs(t, err, context.Canceled)
	requireOutcomes(t, l, outcomes{neutrals: 1})
}

// The attempt had all of the time: see attempt.Attempt for less of it.
func TestDeadlineInFlightIsATimeout(t *testing.T) { synctest.Test(t, testDeadlineInFlightIsATimeout) }

func testDeadlineInFlightIsATimeout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	s := newStore(t, scripted(func(_ http.ResponseWriter, r *http.Request) bool {
		hang(r)
		return true
	}))
	l := newLimiter(t)
	_, err := get(ctx, s.client(l), "k")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	requireOutcomes(t, l, outcomes{timeouts: 1})
}

// The attempt's own time is up: the HTTP client's, say.
func TestTimeoutOfOneAttempt(t *testing.T) { synctest.Test(t, testTimeoutOfOneAttempt) }

func testTimeoutOfOneAttempt(t *testing.T) {
	s := newStore(t, once(func(_ http.ResponseWriter, r *http.Request) { hang(r) }))
	s.transport.ResponseHeaderTimeout = 500 * time.Millisecond
	l := newLimiter(t)
	require.NoError(t, put(t.Context(), s.client(l), "k", ""))
	requireOutcomes(t, l, outcomes{successes: 1, timeouts: 1})
}

func TestClosedLimiter(t *testing.T) {
	s := newStore(t)
	l := newLimiter(t)
	l.Close()
	err := put(t.Context(), s.client(l), "k", "x")
	require.ErrorIs(t, err, limiter.ErrClosed)
	requests, _ := s.Counts()
	require.Zero(t, requests)
	requireOutcomes(t, l, outcomes{})
}

// Not even a classifier that finds everything worth another try keeps an operation going whose limiter is
// closed or whose context is over.
func TestNoRetryOfWhatIsOver(t *testing.T) { synctest.Test(t, testNoRetryOfWhatIsOver) }

func testNoRetryOfWhatIsOver(t *testing.T) {
	s := newStore(t)
	l := oneSlot(t, aimd.WithClassifier(func(error) attempt.Verdict {
		return attempt.Verdict{Outcome: window.Overload, Retry: true}
	}))
	c := s.client(l)
	p, err := l.Acquire(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, put(ctx, c, "k", "x"), context.DeadlineExceeded)
	l.Close()
	require.ErrorIs(t, put(t.Context(), c, "k", "x"), limiter.ErrClosed)
	require.NoError(t, p.Done(window.Success))
	requireOutcomes(t, l, outcomes{successes: 1})
}

// The limiter closes while an operation waits for its second attempt.
func TestClosedBetweenAttempts(t *testing.T) { synctest.Test(t, testClosedBetweenAttempts) }

func testClosedBetweenAttempts(t *testing.T) {
	s := newStore(t, scripted(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Retry-After", "3600")
		fakes3.Refuse(w, r)
		return true
	}))
	l := newLimiter(t)
	done := make(chan error)
	go func() { done <- put(t.Context(), s.client(l), "k", "x") }()
	settled(t, l, func(s limiter.Snapshot) bool { return s.Overloads == 1 })
	l.Close()
	err := <-done
	require.ErrorIs(t, err, limiter.ErrClosed)
	requireCode(t, err, "SlowDown")
	require.ErrorContains(t, err, "gave up after 1 attempt: limiter: closed; last error: ")
	requireOutcomes(t, l, outcomes{overloads: 1})
}

func TestFullQueue(t *testing.T) { synctest.Test(t, testFullQueue) }

func testFullQueue(t *testing.T) {
	s := newStore(t)
	l := oneSlot(t, aimd.WithQueueBound(1))
	p, err := l.Acquire(t.Context())
	require.NoError(t, err)
	c := s.client(l)
	done := make(chan error)
	go func() { done <- put(t.Context(), c, "waits", "x") }()
	settled(t, l, queued(1))
	require.ErrorIs(t, put(t.Context(), c, "too many", "x"), attempt.ErrQueueFull)
	require.NoError(t, p.Done(window.Neutral))
	require.NoError(t, <-done)
	requireOutcomes(t, l, outcomes{successes: 1, neutrals: 1})
}

func TestPanicReleases(t *testing.T) {
	s := newStore(t)
	l := newLimiter(t)
	c := s.client(l, func(cfg *aws.Config) {
		cfg.APIOptions = append(cfg.APIOptions, after("Signing", func() { panic("inner") }))
	})
	require.PanicsWithValue(t, "inner", func() { _ = put(t.Context(), c, "k", "x") })
	requireOutcomes(t, l, outcomes{neutrals: 1})
}

// The SDK goes on trying while nobody listens, and forgets why when the time is up; the caller gets to
// know.
func TestRefusedConnection(t *testing.T) { synctest.Test(t, testRefusedConnection) }

func testRefusedConnection(t *testing.T) {
	s := newStore(t)
	s.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	l := newLimiter(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := put(ctx, s.client(l), "k", "x")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	var story *attempt.Error
	require.True(t, errors.As(err, &story))
	require.NotZero(t, story.Attempts)
	requireOutcomes(t, l, outcomes{neutrals: uint64(story.Attempts)})
}

// A body that cannot be rewound gets one attempt; the error still tells what was wrong with it.
func TestBodyThatCannotBeRewound(t *testing.T) {
	s := newStore(t, scripted(func(w http.ResponseWriter, r *http.Request) bool { fakes3.Refuse(w, r); return true }))
	s.transport.DialContext = nil // to a real socket
	secure := newTLSServer(t, s)
	l := newLimiter(t)
	c := s.client(l, func(cfg *aws.Config) {
		cfg.BaseEndpoint, cfg.HTTPClient = aws.String(secure.URL), secure.Client()
	})
	_, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"), Body: io.MultiReader(strings.NewReader("x"))})
	require.ErrorContains(t, err, "failed to rewind")
	requireCode(t, err, "SlowDown")
	requireOutcomes(t, l, outcomes{overloads: 1})
}

// warden is a guard that keeps what it was told.
type warden struct {
	mu  sync.Mutex
	log []string
}

func (w *warden) Admit(_ context.Context, attempt int) error {
	w.note(fmt.Sprint(attempt))
	return nil
}

func (w *warden) Ended(_ context.Context, o window.Outcome) { w.note(o.String()) }

func (w *warden) note(s string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, s)
}

func (w *warden) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.log
	w.log = nil
	return log
}

func TestGuards(t *testing.T) { synctest.Test(t, testGuards) }

func testGuards(t *testing.T) {
	s := newStore(t, once(fakes3.Refuse))
	var w warden
	l := newLimiter(t, aimd.WithGuard(&w))
	c := s.client(l)
	require.NoError(t, put(t.Context(), c, "k", "x"))
	require.Equal(t, []string{"0", "overload", "2", "success"}, w.told())

	out, err := get(t.Context(), c, "k")
	require.NoError(t, err)
	require.Equal(t, []string{"0"}, w.told(), "it ends with the body")
	require.NoError(t, out.Body.Close())
	require.Equal(t, []string{"success"}, w.told())

	_, err = get(t.Context(), c, "missing")
	requireCode(t, err, "NoSuchKey")
	require.Equal(t, []string{"0", "client error"}, w.told())

	require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error { return put(ctx, c, "k", "x") }))
	require.Equal(t, []string{"1", "success"}, w.told(), "Do has asked them")

	l.Close()
	require.ErrorIs(t, put(t.Context(), c, "k", "x"), limiter.ErrClosed)
	require.Equal(t, []string{"0", "none"}, w.told())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, put(ctx, c, "k", "x"), context.Canceled)
	require.Empty(t, w.told())
}

// Exhausted means fail at once, and the SDK does not try again.
func TestARetryBudget(t *testing.T) { synctest.Test(t, testARetryBudget) }

func testARetryBudget(t *testing.T) {
	budget, err := retry.NewBudget(retry.BudgetSettings{}, nil)
	require.NoError(t, err)
	s := newStore(t, scripted(func(w http.ResponseWriter, r *http.Request) bool { fakes3.Refuse(w, r); return true }))
	l := newLimiter(t, aimd.WithGuard(budget))
	err = put(t.Context(), s.client(l), "k", "x")
	require.ErrorIs(t, err, retry.ErrBudget)
	requireCode(t, err, "SlowDown")
	requireOutcomes(t, l, outcomes{overloads: 1 + 3})
}
