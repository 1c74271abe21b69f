package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/admission"
	"github.com/aimd-go/aimd/httplimit"
	"github.com/aimd-go/aimd/tag"
)

const (
	clients = 10
	// interactiveRate is how many interactive operations all clients together begin in a second:
	// half of the capacity of the service. inBackground is how many background operations they
	// keep under way, one and a half times the slots. Together they are twice the capacity.
	interactiveRate = slots / 2 * int(time.Second/service)
	inBackground    = slots * 3 / 2
	// calm is the time for which the interactive operations are alone, crowded how long background
	// operations run too.
	calm, crowded = 1500 * time.Millisecond, 3 * time.Second
	// mostAttemptsEach bounds attempts over operations. mostSlower bounds the p99 of interactive
	// operations at twice the capacity, over their p99 without load.
	mostAttemptsEach = 1.1
	mostSlower       = 2.0
)

// A Handler with 32 slots in front of a slow handler, which knows of no limit, and 10 clients with the
// transport, mixed interactive and background: the background is shed first, interactive operations hardly
// notice, and each operation that was accepted is done once and its client knows.
func TestOverload(t *testing.T) {
	attempt(t, func(t *testing.T) bool {
		door, err := admission.New(admission.Fixed(slots), admission.Config{QueueBound: slots})
		require.NoError(t, err)
		work := &backend{delay: service, spread: 0.2}
		h, err := httplimit.NewHandler(work, door, httplimit.HandlerConfig{})
		require.NoError(t, err)
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		r := newRush(begin(t), t, strings.TrimPrefix(server.URL, "http://"))
		alone, _ := r.run(calm, 0)
		mixed, each := r.run(crowded, inBackground)

		require.LessOrEqual(t, work.most, slots, "in service at a time")
		require.Zero(t, work.broken)
		require.Equal(t, work.done, r.succeeded)
		require.Len(t, r.succeeded, r.begun)
		s := door.Snapshot()
		require.Zero(t, s.InFlight)
		require.Zero(t, s.Queued)
		interactive, background := s.ByCriticality[tag.Critical], s.ByCriticality[tag.Sheddable]
		calmP99, p99 := percentile(alone, 0.99), percentile(mixed, 0.99)
		figures.log(t, "interactive: p99 %v alone, %v at twice the capacity (%.2f x), %d shed of %d; background: %d shed of %d; %.3f attempts per operation",
			calmP99.Round(time.Millisecond), p99.Round(time.Millisecond), ratio(p99, calmP99),
			interactive.Shed(), interactive.Shed()+interactive.Admitted,
			background.Shed(), background.Shed()+background.Admitted, each)
		return interactive.Shed() == 0 && background.Shed() > 0 &&
			ratio(p99, calmP99) <= amount(1.0, noise)*mostSlower && each <= mostAttemptsEach
	})
}

// rush is ten clients of one service, and the results of their operations.
type rush struct {
	t       *testing.T
	ctx     context.Context
	address string
	// Each client has a limiter for each kind of operations, since the service refuses the kinds for
	// different reasons.
	clients [clients]map[tag.Criticality]*client
	// sent has the attempts.
	sent *recorder

	mu    sync.Mutex
	begun int
	// succeeded counts the answers by operation.
	succeeded map[string]int
}

type client struct {
	limiter *aimd.Limiter
	http    *http.Client
}

func newRush(ctx context.Context, t *testing.T, address string) *rush {
	r := &rush{t: t, ctx: ctx, address: address, sent: &recorder{base: newTransport(t, 0)}, succeeded: map[string]int{}}
	for i := range r.clients {
		tagger, err := httplimit.NewTagger(r.sent, fmt.Sprintf("client-%d", i), "1.0")
		require.NoError(t, err)
		r.clients[i] = map[tag.Criticality]*client{}
		for _, kind := range []tag.Criticality{tag.Critical, tag.Sheddable} {
			l := reno.limiter(t, aimd.Config{})
			t.Cleanup(func() { requireIdle(t, l) })
			r.clients[i][kind] = &client{l, &http.Client{Transport: httplimit.New(tagger, l)}}
		}
	}
	return r
}

// run lets the clients begin operations for some time, with that many of the background at a time, and waits
// until all are done. It returns the latencies of the interactive ones, from when they were due, and the
// attempts for each operation.
func (r *rush) run(d time.Duration, background int) (latencies []time.Duration, attempts float64) {
	begun, sent := r.begun, len(r.sent.sends)
	var all sync.WaitGroup
	began := time.Now()
	for n := range background {
		all.Go(func() {
			for time.Since(began) < d {
				r.operation(n, tag.Sheddable)
			}
		})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for due, n := time.Duration(0), 0; due < d; n++ {
		time.Sleep(time.Until(began.Add(due)))
		at := began.Add(due)
		all.Go(func() {
			r.operation(n, tag.Critical)
			r.mu.Lock()
			defer r.mu.Unlock()
			latencies = append(latencies, time.Since(at))
		})
		due += time.Duration(random.ExpFloat64() * float64(time.Second) / float64(interactiveRate))
	}
	all.Wait()
	return latencies, float64(len(r.sent.sends)-sent) / float64(r.begun-begun)
}

// operation is one of the n-th client, in as many attempts as it takes.
func (r *rush) operation(n int, kind tag.Criticality) {
	c := r.clients[n%clients][kind]
	r.mu.Lock()
	r.begun++
	path := fmt.Sprintf("/operation-%05d", r.begun)
	r.mu.Unlock()
	err := c.limiter.Do(tag.WithCriticality(r.ctx, kind), func(ctx context.Context) error {
		return ask(ctx, c.http, r.address, path, nil)
	})
	if err != nil {
		r.t.Error(err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.succeeded[path]++
}
