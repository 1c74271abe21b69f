package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/tag"
)

const (
	clients = 10
	// interactiveRate is how many interactive operations all clients together begin in a second:
	// half of the capacity of the service. inBackground is how many background operations they
	// keep under way, one and a half times the slots. Together they are twice the capacity.
	interactiveRate = slots / 2 * int(time.Second/service)
	inBackground    = slots * 3 / 2
	// calm is how long the interactive operations are alone, crowded how long background
	// operations run too.
	calm, crowded = 1500 * time.Millisecond, 3 * time.Second
	// mostAttemptsEach bounds attempts over operations. mostSlower bounds the p99 of interactive
	// operations at twice the capacity, over their p99 without load.
	mostAttemptsEach = 1.1
	mostSlower       = 2.0
)

// A Handler with 32 slots in front of a slow handler, 10 clients with the transport, mixed
// interactive and background: the background is shed first, interactive operations hardly
// notice, and each operation that was accepted is done once and its client knows.
func TestOverload(t *testing.T) {
	attempt(t, func(t *testing.T) bool {
		w := startWork(t)
		r := newRush(begin(t), t, w.address)
		alone := r.run(calm, 0)
		require.Zero(t, alone.failed.Load())
		mixed := r.run(crowded, inBackground)

		require.LessOrEqual(t, w.most, slots, "in service at a time")
		slices.Sort(w.served)
		slices.Sort(r.succeeded)
		require.Equal(t, w.served, r.succeeded)
		require.Zero(t, mixed.failed.Load())
		s := w.door.Snapshot()
		require.Zero(t, s.InFlight)
		require.Zero(t, s.Queued)
		return r.good(alone, mixed, s)
	})
}

// work is a handler that is slow, by a fifth more or less, and knows of no limit. The door is
// in front of it.
type work struct {
	address string
	door    *admission.Controller

	mu           sync.Mutex
	inside, most int
	// served are the operations that were done.
	served []string
}

func startWork(t *testing.T) *work {
	t.Helper()
	door, err := admission.New(admission.Fixed(slots), admission.Config{QueueBound: slots})
	require.NoError(t, err)
	w := &work{door: door}
	h, err := httplimit.NewHandler(w, door, httplimit.HandlerConfig{})
	require.NoError(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	w.address = strings.TrimPrefix(s.URL, "http://")
	return w
}

func (w *work) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.inside++
	w.most = max(w.most, w.inside)
	w.mu.Unlock()
	time.Sleep(time.Duration(float64(service) * (0.8 + 0.4*rand.Float64())))
	operation := path.Base(r.URL.Path)
	w.mu.Lock()
	w.inside--
	w.served = append(w.served, operation)
	w.mu.Unlock()
	_, _ = io.WriteString(rw, operation)
}

// good logs the figures, and reports whether they are as they should be.
func (r *rush) good(alone, mixed *phase, s admission.Snapshot) bool {
	interactive, background := s.ByCriticality[tag.Critical], s.ByCriticality[tag.Sheddable]
	calmP99, p99 := percentile(alone.latencies, 0.99), percentile(mixed.latencies, 0.99)
	each := float64(mixed.attempts) / float64(mixed.operations)
	figures.log(r.t, "interactive: p99 %v alone, %v at twice the capacity (%.2f x), %d shed of %d; background: %d shed of %d; %.3f attempts per operation",
		calmP99.Round(time.Millisecond), p99.Round(time.Millisecond), p99.Seconds()/calmP99.Seconds(),
		interactive.Shed(), interactive.Shed()+interactive.Admitted,
		background.Shed(), background.Shed()+background.Admitted, each)
	return interactive.Shed() == 0 && background.Shed() > 0 &&
		p99.Seconds() <= amount(1.0, noise)*mostSlower*calmP99.Seconds() && each <= mostAttemptsEach
}

func percentile(all []time.Duration, p float64) time.Duration {
	slices.Sort(all)
	return all[int(p*float64(len(all)-1))]
}

// rush is ten clients of one service, and the results of their operations.
type rush struct {
	t       *testing.T
	ctx     context.Context
	address string
	clients [clients]client
	// sent has the attempts, operations counts the operations that were begun.
	sent       *recorder
	operations atomic.Int64
	mu         sync.Mutex
	// succeeded are the operations whose clients got an answer.
	succeeded []string
}

// client is a program with two kinds of operations. Each kind has a limiter of its
// own, since the service refuses the kinds for different reasons.
type client struct {
	interactive, background door
}

type door struct {
	limiter *limiter.Limiter
	http    *http.Client
	tags    func(context.Context) context.Context
}

func newRush(ctx context.Context, t *testing.T, address string) *rush {
	r := &rush{t: t, ctx: ctx, address: address, sent: &recorder{base: newTransport(t, 0)}}
	for i := range r.clients {
		tagger, err := httplimit.NewTagger(r.sent, fmt.Sprintf("client-%d", i), "1.0")
		require.NoError(t, err)
		for _, d := range []struct {
			door *door
			of   tag.Criticality
		}{{&r.clients[i].interactive, tag.Critical}, {&r.clients[i].background, tag.Sheddable}} {
			l := newLimiter(t)
			t.Cleanup(func() { requireIdle(t, l) })
			*d.door = door{limiter: l, http: &http.Client{Transport: httplimit.New(tagger, l)}, tags: func(ctx context.Context) context.Context {
				return tag.WithCriticality(ctx, d.of)
			}}
		}
	}
	return r
}

// phase is one part of the test.
type phase struct {
	mu sync.Mutex
	// latencies are those of the interactive operations, from when they were due.
	latencies []time.Duration
	failed    atomic.Int64
	// operations and attempts are their numbers in this phase.
	operations, attempts int64
}

// run lets the clients begin operations for some time, with that many of the
// background at a time, and waits until all are done.
func (r *rush) run(d time.Duration, background int) *phase {
	p := &phase{operations: -r.operations.Load(), attempts: -int64(len(r.sent.sends))}
	var all sync.WaitGroup
	began := time.Now()
	for n := range background {
		all.Go(func() {
			for time.Since(began) < d {
				r.operation(p, r.clients[n%clients].background)
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for due, n := time.Duration(0), 0; due < d; n++ {
		time.Sleep(time.Until(began.Add(due)))
		at := began.Add(due)
		all.Go(func() {
			r.operation(p, r.clients[n%clients].interactive)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.latencies = append(p.latencies, time.Since(at))
		})
		due += time.Duration(random.ExpFloat64() * float64(time.Second) / float64(interactiveRate))
	}
	all.Wait()
	p.operations += r.operations.Load()
	p.attempts += int64(len(r.sent.sends))
	return p
}

// operation is one of a client, in as many attempts as it takes.
func (r *rush) operation(p *phase, d door) {
	name := fmt.Sprintf("operation-%05d", r.operations.Add(1))
	err := d.limiter.Do(d.tags(r.ctx), func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.address+"/"+name, nil)
		if err != nil {
			return err
		}
		got, err := exchange(d.http, req)
		if err == nil && got != name {
			err = fmt.Errorf("answer to %s: %q", name, got)
		}
		return err
	})
	if err != nil {
		r.t.Error(err)
		p.failed.Add(1)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.succeeded = append(r.succeeded, name)
}
