package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/tag"
	"github.com/aimd-go/aimd/window"
)

// trace is a Core with one place, which is taken, in virtual time.
type trace struct {
	t      *testing.T
	core   core
	now    time.Duration
	ticket window.Ticket
	// requests are those that came, names theirs.
	requests map[string]*request
	names    map[*request]string
}

func newTrace(t *testing.T, s Config) *trace {
	t.Helper()
	core, err := newCore(Fixed(1), s)
	require.NoError(t, err)
	x := &trace{t: t, core: core, requests: map[string]*request{}, names: map[*request]string{}}
	ticket, ok := x.core.Tried(x.now)
	require.True(t, ok)
	x.ticket = ticket
	return x
}

func (x *trace) comes(name string, tags tag.Tags) *trace { return x.turns(0, name, tags) }

// turns lets a request come that has that turn.
func (x *trace) turns(turn int, name string, tags tag.Tags) *trace {
	x.t.Helper()
	_, ok := x.core.Tried(x.now)
	require.False(x.t, ok, "the place is taken")
	r := &request{tags: tags, turn: turn}
	x.requests[name], x.names[r] = r, name
	x.core.Queued(x.now, r)
	return x
}

// shed asserts that these were shed, for that reason.
func (x *trace) shed(why string, names ...string) *trace {
	x.t.Helper()
	for _, want := range names {
		r := x.core.Next(x.now)
		require.NotNil(x.t, r, "%s is shed", want)
		require.Equal(x.t, want, x.names[r])
		require.NotNil(x.t, r.shed)
		require.Equal(x.t, why, r.shed.Reason)
		require.Positive(x.t, r.shed.RetryAfter)
	}
	require.Nil(x.t, x.core.Next(x.now), "and no other")
	return x
}

// served asserts that these are served in this order, one after the other.
func (x *trace) served(names ...string) *trace {
	x.t.Helper()
	for _, want := range names {
		_, ok := x.core.Answered(x.now, x.ticket, window.Success)
		require.True(x.t, ok)
		r := x.core.Next(x.now)
		require.NotNil(x.t, r, "%s is served", want)
		require.Nil(x.t, r.shed)
		x.ticket = r.ticket
		require.Equal(x.t, want, x.names[r])
	}
	return x
}

func (x *trace) passes(d time.Duration) *trace {
	x.now += d
	x.core.seen(x.now)
	return x
}

var (
	background  = tag.Tags{Criticality: tag.Sheddable}
	batch       = tag.Tags{Criticality: tag.SheddablePlus}
	interactive = tag.Tags{}
	vital       = tag.Tags{Criticality: tag.CriticalPlus}
)

// "Prioritize interactive requests" (Safe Client Behaviour).
func TestTheMostCriticalIsServedFirst(t *testing.T) {
	newTrace(t, Config{}).
		comes("background", background).comes("batch", batch).comes("interactive", interactive).
		comes("another", interactive).comes("vital", vital).comes("one more", background).
		served("vital", "interactive", "another", "batch", "background", "one more").
		shed("")
}

// "Drop background requests" (Safe Client Behaviour).
func TestTheLeastCriticalIsShedFirst(t *testing.T) {
	newTrace(t, Config{QueueBound: 2}).
		comes("background", background).comes("more of it", background).
		comes("too much", background).shed(full, "too much").
		comes("interactive", interactive).shed(displaced, "more of it").
		comes("vital", vital).shed(displaced, "background").
		comes("batch", batch).shed(full, "batch").
		comes("late", vital).shed(displaced, "interactive").
		served("vital", "late")
}

// "Retry or initial request?" (Safe Client Behaviour): retries are shed before first attempts.
func TestRetriesAreShedFirst(t *testing.T) {
	retry := func(of tag.Tags) tag.Tags { of.Attempt = 2; return of }
	newTrace(t, Config{QueueBound: 3}).
		comes("retry", retry(interactive)).comes("first", interactive).comes("second retry", retry(interactive)).
		comes("new", interactive).shed(displaced, "second retry").
		comes("newer", interactive).shed(displaced, "retry").
		comes("newest", interactive).shed(full, "newest").
		comes("vital retry", retry(vital)).shed(displaced, "newer").
		served("vital retry", "first", "new")
	// They wait like all others: what is no use is to shed first and serve last.
	newTrace(t, Config{}).
		comes("retry", retry(interactive)).comes("first", interactive).
		served("retry", "first")
}

// "Avoid dropping requests known to trigger a retry storm" and "Work around client bugs" (Safe Client
// Behaviour).
func TestTurnsComeBeforeCriticality(t *testing.T) {
	newTrace(t, Config{QueueBound: 2}).
		turns(5, "storm", tag.Tags{Criticality: tag.Sheddable}).
		turns(-5, "bug", tag.Tags{Criticality: tag.CriticalPlus}).
		comes("background", background).shed(displaced, "bug").
		comes("vital", vital).shed(displaced, "background").
		comes("more", vital).shed(full, "more").
		served("storm", "vital")
}

// "Never waits for longer" than the queue time, and who has waited for it is shed even where a place
// comes free at that moment.
func TestWaitsAreBounded(t *testing.T) {
	x := newTrace(t, Config{QueueTime: time.Second}).
		comes("first", background).passes(400*time.Millisecond).comes("second", vital)
	at, ok := x.core.Deadline()
	require.True(t, ok)
	assert.Equal(t, x.now+600*time.Millisecond, at)
	x.passes(600*time.Millisecond-1).shed("").
		passes(1).shed(expired, "first").
		passes(400*time.Millisecond).shed(expired, "second")
	_, ok = x.core.Deadline()
	assert.False(t, ok)
	require.False(t, x.core.Cancelled(x.now, x.requests["first"]))

	x.comes("third", vital)
	x.now += time.Second
	x.core.Answered(x.now, x.ticket, window.Success)
	x.shed(expired, "third")
}

func TestTimeNeverGoesBack(t *testing.T) {
	x := newTrace(t, Config{}).passes(time.Hour)
	x.now -= time.Minute
	x.comes("waits", vital)
	at, _ := x.core.Deadline()
	assert.Equal(t, x.now+time.Minute+200*time.Millisecond, at)
	assert.Zero(t, x.core.Waited(x.requests["waits"]))
}

// A request that comes does not pass those that wait, though there is a place.
func TestNoRequestPassesTheQueue(t *testing.T) {
	x := newTrace(t, Config{}).comes("waits", vital)
	x.core.Answered(x.now, x.ticket, window.Success)
	_, ok := x.core.Tried(x.now)
	require.False(t, ok)
	require.Same(t, x.requests["waits"], x.core.Next(x.now))
	require.Nil(t, x.requests["waits"].shed)
}

// How long Retry-After is goes by how long requests take, and how many at a time.
func TestRetryAfterGoesByTheCapacity(t *testing.T) {
	x := newTrace(t, Config{QueueBound: -1, RetryAfterMin: 100 * time.Millisecond, RetryAfterMax: time.Minute})
	assert.Zero(t, x.core.service)
	x.now += 8 * time.Second
	x.core.Answered(x.now, x.ticket, window.Success)
	assert.Equal(t, 8*time.Second, x.core.service)
	x.ticket, _ = x.core.Tried(x.now)
	x.core.Answered(x.now, x.ticket, window.Success)
	assert.Equal(t, 7*time.Second, x.core.service, "7/8 of the old, 1/8 of the new")
	x.ticket, _ = x.core.Tried(x.now)
	x.now += time.Hour
	x.core.Answered(x.now, x.ticket, window.Neutral)
	assert.Equal(t, 7*time.Second, x.core.service, "of successes alone")
	x.ticket, _ = x.core.Tried(x.now)
	for n := range 4 {
		x.core.Queued(x.now, &request{})
		r := x.core.Next(x.now).shed
		// One at a time, 7 s each, and half of that for those who return.
		assert.InDelta(t, float64(n+1)*14, r.RetryAfter.Seconds(), float64(n+1)*7)
	}
}

func TestRetryAfterGoesByHowManyAtATime(t *testing.T) {
	core, err := newCore(Fixed(100), Config{QueueBound: -1, RetryAfterMax: time.Minute})
	require.NoError(t, err)
	now := time.Duration(0)
	for range 100 {
		_, ok := core.Tried(now)
		require.True(t, ok)
	}
	var r *Shed
	for range 5000 { // 100 at a time, 100 ms each, half of that: 500 in a second
		core.Queued(now, &request{})
		r = core.Next(now).shed
	}
	assert.InDelta(t, 10, r.RetryAfter.Seconds(), 5)
}

// pacing is a law that lets one go each 10 ms.
type pacing struct{}

func (pacing) Answered(_ time.Duration, s window.State, _ window.End) window.State {
	s.Cwnd, s.Pace = float64(s.Trip)/float64(10*time.Millisecond), window.Spaced
	return s
}
func (pacing) Timed() bool { return true }

func TestWrongSettingsAreNamed(t *testing.T) {
	core := func(l Limit, s Config) error {
		_, err := newCore(l, s)
		return err
	}
	good := Fixed(1)
	require.NoError(t, core(good, Config{}))
	require.NoError(t, core(good, Config{RetryAfterMin: time.Minute}), "the longest is no less")
	require.NoError(t, core(good, Config{RetryAfterMax: 500 * time.Millisecond}), "the shortest is no more")
	assert.EqualError(t, core(Limit{}, Config{}), "Limit: the zero Limit is not allowed, want Fixed or Adaptive")
	assert.EqualError(t, core(Fixed(0), Config{}), "Fixed: 0 is not allowed, want a number from 1 to 1048576")
	assert.EqualError(t, core(Fixed(-1), Config{}), "Fixed: -1 is not allowed, want a number from 1 to 1048576")
	assert.EqualError(t, core(Adaptive(nil, window.Settings{}), Config{}), "law: nil is not allowed")
	assert.ErrorContains(t, core(Adaptive(func(window.Settings) window.Law { return pacing{} }, window.Settings{Initial: 0.5}), Config{}), "Initial: 0.5 is not allowed")
	for want, s := range map[string]Config{
		"QueueTime: 1h0m0s is not allowed, want a duration from 1ms to 1m0s":         {QueueTime: time.Hour},
		"QueueTime: -1ns is not allowed, want a duration from 1ms to 1m0s":           {QueueTime: -1},
		"RetryAfterMax: 2h0m0s is not allowed, want a duration from 100ms to 1h0m0s": {RetryAfterMax: 2 * time.Hour},
		"RetryAfterMin: 2s is not allowed, want a duration from 100ms to 1s":         {RetryAfterMin: 2 * time.Second, RetryAfterMax: time.Second},
		"RetryAfterMin: 2h0m0s is not allowed, want a duration from 100ms to 1h0m0s": {RetryAfterMin: 2 * time.Hour},
	} {
		assert.EqualError(t, core(good, s), want)
	}
	_, err := New(Limit{}, Config{})
	assert.ErrorContains(t, err, "admission: Limit: ")
}

// by lets a request come that has so much time.
func (x *trace) by(had time.Duration, name string) *trace {
	x.t.Helper()
	x.comes(name, interactive)
	x.requests[name].deadline = x.now + had
	return x
}

// A request is too late with less time left than two mean services, or than half of its time, if that is less.
func TestARequestThatIsTooLateIsShed(t *testing.T) {
	for _, c := range []struct {
		had, at time.Duration
		late    bool
	}{{100 * time.Millisecond, 80 * time.Millisecond, false}, {100 * time.Millisecond, 80*time.Millisecond + 1, true},
		{30 * time.Millisecond, 15 * time.Millisecond, false}, {30 * time.Millisecond, 15*time.Millisecond + 1, true},
	} {
		x := newTrace(t, Config{})
		x.core.service = 10 * time.Millisecond
		x.by(c.had, "a").passes(c.at)
		if c.late {
			x.shed(expired, "a")
		} else {
			x.shed("")
		}
	}
}

// From then on the newest with a deadline goes first, for eight times the QueueTime. Others keep their turn.
func TestTheNewestRequestGoesFirstInACrowd(t *testing.T) {
	const end = 61*time.Millisecond + 8*time.Second
	crowd := func() *trace {
		x := newTrace(t, Config{QueueTime: time.Second})
		x.core.service = 20 * time.Millisecond
		return x.by(100*time.Millisecond, "late").passes(61*time.Millisecond).shed(expired, "late")
	}
	newTrace(t, Config{}).by(time.Minute, "a").by(time.Minute, "b").served("a", "b")
	x := crowd()
	x.passes(end-x.now-1).by(time.Minute, "a").by(time.Minute, "b").served("b", "a")
	x.by(time.Minute, "a").comes("none", interactive).by(time.Minute, "b").passes(1).served("a", "none", "b")

	x = crowd()
	x.comes("none", interactive).by(time.Minute, "a").by(time.Minute, "b").served("none", "b", "a")

	// One that came before the end of a crowd begins no other.
	x = crowd().by(9*time.Second, "second").passes(time.Second).shed(expired, "second")
	x.passes(end-x.now).by(time.Minute, "a").by(time.Minute, "b").served("a", "b")

	// A caller that left at its deadline is late, too.
	x = newTrace(t, Config{QueueTime: time.Second}).by(100*time.Millisecond, "gone")
	require.True(t, x.core.Cancelled(100*time.Millisecond, x.requests["gone"]))
	x.passes(100*time.Millisecond).by(time.Minute, "a").by(time.Minute, "b").served("b", "a")
}
