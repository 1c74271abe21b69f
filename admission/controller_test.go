package admission

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type answer struct {
	place Place
	err   error
}

// admit calls Admit in a goroutine, and returns when that has decided or waits.
func admit(ctx context.Context, c *Controller, t tag.Tags) <-chan answer {
	to := make(chan answer, 1)
	go func() {
		p, err := c.Admit(ctx, t)
		to <- answer{p, err}
	}()
	synctest.Wait()
	return to
}

func controller(t testing.TB, l Limit, s Config) *Controller {
	t.Helper()
	c, err := New(l, s)
	require.NoError(t, err)
	return c
}

func TestWhatDoesNotFitWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, Fixed(1), Config{})
		p, err := c.Admit(t.Context(), tag.Tags{})
		require.NoError(t, err)
		background := admit(t.Context(), c, tag.Tags{Criticality: tag.Sheddable})
		interactive := admit(t.Context(), c, tag.Tags{})
		require.Empty(t, background)
		require.Empty(t, interactive)
		require.Equal(t, Counts{Queued: 1}, c.Snapshot().ByCriticality[tag.Sheddable])

		time.Sleep(100 * time.Millisecond)
		p.Done(window.Success)
		synctest.Wait()
		a := <-interactive
		require.NoError(t, a.err)
		require.Equal(t, 100*time.Millisecond, a.place.Waited())
		require.Empty(t, background)

		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		var shed *Shed
		require.ErrorAs(t, (<-background).err, &shed)
		require.Equal(t, expired, shed.Reason)
		require.Equal(t, 200*time.Millisecond, shed.Waited)
		a.place.Done(window.Success)
		a.place.Done(window.Success) // no effect
	})
}

// One event for each request, at its end, and the counts.
func TestObserverIsToldEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan Event, 10)
		var c *Controller
		c, err := New(Fixed(1), Config{
			QueueBound: 1,
			Observer: func(e Event) {
				if e.Outcome != 0 {
					assert.Zero(t, c.Snapshot().InFlight, "it may call back")
				}
				events <- e
			},
			Turn: func(t tag.Tags) int { return t.Attempt / 100 },
		})
		require.NoError(t, err)
		told := func(want ...Event) {
			t.Helper()
			synctest.Wait() // the observer is called last
			var got []Event
			for len(events) > 0 {
				e := <-events
				if e.Shed != nil {
					require.Positive(t, e.Shed.RetryAfter)
					e.Shed.RetryAfter = 0
				}
				got = append(got, e)
			}
			require.Equal(t, want, got)
		}
		shed := func(of tag.Tags, waited time.Duration, why string) Event {
			return Event{Tags: of, Waited: waited, Shed: &Shed{Reason: why, Waited: waited, Tags: of}}
		}
		p, err := c.Admit(t.Context(), vital)
		require.NoError(t, err)
		first := admit(t.Context(), c, background)
		told()
		refused := background
		refused.Client, refused.Attempt = "photos", 2
		_, err = c.Admit(t.Context(), refused)
		require.ErrorAs(t, err, new(*Shed))
		require.ErrorContains(t, err, `admission: shed (full): sheddable request of "photos", to come back after `)
		told(shed(refused, 0, full))
		time.Sleep(100 * time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		second := admit(ctx, c, interactive)
		require.ErrorAs(t, (<-first).err, new(*Shed))
		told(shed(background, 100*time.Millisecond, displaced))
		time.Sleep(time.Millisecond)
		turned := tag.Tags{Criticality: tag.Sheddable, Attempt: 100}
		last := admit(t.Context(), c, turned)
		require.ErrorAs(t, (<-second).err, new(*Shed), "the turn comes before criticality")
		told(shed(interactive, time.Millisecond, displaced))
		cancel()
		_, err = c.Admit(ctx, background)
		require.ErrorIs(t, err, context.Canceled)
		told(Event{Tags: background}) // it came too late, and is counted
		require.ErrorAs(t, (<-last).err, new(*Shed))
		told(shed(turned, 200*time.Millisecond, expired))
		assert.Equal(t, 301*time.Millisecond, p.Held())
		p.Done(window.Timeout)
		told(Event{Tags: vital, Outcome: window.Timeout, Took: 301 * time.Millisecond})
		p.Done(window.Success) // no effect
		told()

		text, err := json.Marshal(c.Snapshot())
		require.NoError(t, err)
		var back Snapshot
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, c.Snapshot(), back)
		assert.Equal(t, map[tag.Criticality]Counts{
			tag.Sheddable:     {Full: 1, ShedRetries: 2, Displaced: 1, Expired: 1, Vanished: 1},
			tag.SheddablePlus: {}, tag.Critical: {Displaced: 1}, tag.CriticalPlus: {Admitted: 1},
		}, back.ByCriticality)
		assert.EqualValues(t, 1, back.Timeouts)
	})
}

// A service that fails and does not say why, again and again, is an outage: eleven in a row are a time-out.
func TestUnclearEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, Fixed(1), Config{})
		for range 11 {
			p, err := c.Admit(t.Context(), tag.Tags{})
			require.NoError(t, err)
			p.Done(window.Unclear)
		}
		s := c.Snapshot()
		require.EqualValues(t, []uint64{10, 1}, []uint64{s.Neutrals, s.Timeouts})
	})
}

// A criticality that does not exist is no way past the queue, and no panic.
func TestCriticalitiesThatDoNotExist(t *testing.T) {
	c := controller(t, Fixed(1), Config{QueueBound: -1})
	for _, n := range []tag.Criticality{-128, 127} {
		p, err := c.Admit(t.Context(), tag.Tags{Criticality: n})
		require.NoError(t, err)
		_, err = c.Admit(t.Context(), tag.Tags{Criticality: n})
		require.ErrorAs(t, err, new(*Shed))
		p.Done(window.Success)
	}
	assert.EqualValues(t, 1, c.Snapshot().ByCriticality[tag.Sheddable].Full)
	assert.EqualValues(t, 1, c.Snapshot().ByCriticality[tag.CriticalPlus].Full)
}

func TestPermitsInContexts(t *testing.T) {
	c := controller(t, Fixed(1), Config{QueueBound: -1})
	_, ok := FromContext(t.Context())
	require.False(t, ok)
	p, err := c.Admit(t.Context(), tag.Tags{Client: "photos"})
	require.NoError(t, err)
	ctx := NewContext(t.Context(), p)
	got, ok := FromContext(ctx)
	require.True(t, ok)

	again, err := c.Admit(ctx, tag.Tags{Client: "within"})
	require.NoError(t, err, "within the request no second place is needed")
	assert.Zero(t, again.Held())
	again.Done(window.Success) // no effect
	assert.Equal(t, ctx, NewContext(ctx, again))
	assert.Equal(t, 1, c.Snapshot().InFlight)
	_, err = controller(t, Fixed(1), Config{}).Admit(ctx, tag.Tags{})
	require.NoError(t, err, "another controller's place is another's")

	assert.PanicsWithValue(t, "admission: Place.Done: 0 is not allowed, want Success, Overload, Timeout, Neutral, ClientError or Unclear", func() { p.Done(0) })
	assert.Panics(t, func() { again.Done(7) })
	assert.Zero(t, c.Snapshot().InFlight, "a wrong outcome gives the place back")
	got.Done(window.Success) // no effect
	p.Done(window.Success)
}

// The timer of a waiter is for the end of its time in the queue. When a place comes free before a law
// that paces lets the next one go, it is for that.
func TestTheTimerGoesByThePacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, Adaptive(func(window.Settings) window.Law { return pacing{} }, window.Settings{Initial: 1, Max: 1}), Config{})
		p, err := c.Admit(t.Context(), interactive)
		require.NoError(t, err)
		p.Done(window.Success) // from now on the law paces
		p, err = c.Admit(t.Context(), interactive)
		require.NoError(t, err)
		began := time.Now()
		waits := admit(t.Context(), c, interactive)
		time.Sleep(time.Millisecond)
		p.Done(window.Success)
		a := <-waits
		require.NoError(t, a.err)
		require.Equal(t, 10*time.Millisecond, time.Since(began))
		require.Equal(t, 10*time.Millisecond, a.place.Waited())
		a.place.Done(window.Success)
	})
}

// Many at once, in all ways: in the end nobody is lost and every place is free.
func TestNothingLeaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, Fixed(4), Config{QueueBound: 8, QueueTime: time.Millisecond, Turn: func(t tag.Tags) int { return len(t.Client) }})
		var all sync.WaitGroup
		const goroutines, each = 64, 100
		var mu sync.Mutex
		ended := map[string]int{}
		for g := range goroutines {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(g), 9))
				for range each {
					// All together send twice what the places serve, in whatever order they run.
					time.Sleep(time.Duration(random.IntN(4000)) * time.Microsecond)
					ctx, cancel := context.WithCancel(t.Context())
					if random.IntN(4) == 0 {
						time.AfterFunc(time.Duration(random.IntN(1000))*time.Microsecond, cancel)
					}
					tags := tag.Tags{Criticality: tag.Sheddable + tag.Criticality(random.IntN(4)), Attempt: random.IntN(3)}
					if random.IntN(8) == 0 {
						tags.Client = "stormy"
					}
					p, err := c.Admit(ctx, tags)
					var shed *Shed
					how := "admitted"
					switch {
					case errors.As(err, &shed):
						how = "shed"
					case err != nil:
						assert.ErrorIs(t, err, context.Canceled)
						how = "vanished"
					default:
						assert.LessOrEqual(t, c.Snapshot().InFlight, 4)
						time.Sleep(time.Duration(random.IntN(500)) * time.Microsecond)
						p.Done(window.Outcome(1 + random.IntN(4)))
						p.Done(window.Success) // no effect
					}
					cancel()
					mu.Lock()
					ended[how]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		s := c.Snapshot()
		assert.Zero(t, s.InFlight)
		assert.Zero(t, s.Queued)
		var sum Counts
		for _, n := range s.ByCriticality {
			assert.Zero(t, n.Queued)
			sum.Admitted += n.Admitted
			sum.Full += n.Full + n.Displaced + n.Expired
			sum.Vanished += n.Vanished
		}
		assert.EqualValues(t, ended["admitted"], sum.Admitted)
		assert.EqualValues(t, ended["shed"], sum.Full)
		assert.EqualValues(t, ended["vanished"], sum.Vanished)
		assert.Equal(t, goroutines*each, ended["admitted"]+ended["shed"]+ended["vanished"])
		for _, how := range []string{"admitted", "shed", "vanished"} {
			assert.Greater(t, ended[how], goroutines*each/100, how)
		}
		assert.Equal(t, sum.Admitted, s.Successes+s.Overloads+s.Timeouts+s.Neutrals)
	})
}

func BenchmarkAdmit(b *testing.B) {
	b.ReportAllocs()
	c, ctx := controller(b, Fixed(32), Config{}), context.Background()
	for b.Loop() {
		p, err := c.Admit(ctx, tag.Tags{})
		if err != nil {
			b.Fatal(err)
		}
		p.Done(window.Success)
	}
}
