package quota

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/answer"
)

// The tests are named after the rules of docs/quota.md. Each number of a rule changed by two breaks one.

// luck is a source of jitter that always returns the same.
type luck float64

func (l luck) Float64() float64 { return float64(l) }

// client is a client of a service, at the time now.
type client struct {
	Quotas
	number uint64
}

func newClient() *client { return &client{Quotas: Quotas{MaxRetryAfter: time.Hour, Rand: luck(0)}} }

// sends sends so many requests.
func (c *client) sends(now time.Duration, n int) {
	for range n {
		c.number++
		c.Sent(now, c.number)
	}
}

// reads reads an accepted answer to the request sent last.
func (c *client) reads(now time.Duration, reports ...answer.Quota) {
	c.Noted(now, Head{Number: c.number, Head: answer.Head{Reports: reports}})
}

func window(limit, left float64, reset time.Duration) answer.Quota {
	return answer.Quota{Name: "requests", Limit: limit, Left: left, Reset: reset}
}

func bucket(limit, left float64, reset time.Duration) answer.Quota {
	return answer.Quota{Name: "requests", Bucket: true, Limit: limit, Left: left, Reset: reset}
}

const sec = time.Second

// Rule 1.
func TestAReportOnlyHoldsBack(t *testing.T) {
	c := newClient()
	assert.Zero(t, c.Due(0, 0, 1000))
	c.sends(0, 1)
	c.reads(0, window(60, 60, 90*sec))
	assert.Zero(t, c.Due(0, 0, 50))
	assert.Zero(t, c.Due(0, 0, 0))
}

// Rule 3: of requests that were sent before the report was read, only one with less left counts.
func TestWhichReportCounts(t *testing.T) {
	c := newClient()
	c.sends(0, 3)
	c.Noted(0, Head{Number: 2, Head: answer.Head{Reports: []answer.Quota{window(60, 50, 90*sec)}}})
	c.Noted(0, Head{Number: 1, Head: answer.Head{Reports: []answer.Quota{window(60, 51, 90*sec)}}})
	assert.Equal(t, 50., c.States(0)[0].Left, "was served before")
	c.Noted(0, Head{Number: 3, Head: answer.Head{Reports: []answer.Quota{window(60, 49, 90*sec)}}})
	assert.Equal(t, 49., c.States(0)[0].Left)
	c.sends(0, 1)
	c.reads(0, window(60, 60, 90*sec))
	assert.Equal(t, 60., c.States(0)[0].Left, "was sent after")

	for i := range 20 {
		c.reads(0, answer.Quota{Name: fmt.Sprint(i), Limit: 60, Left: 60, Reset: sec})
	}
	assert.Len(t, c.States(0), 16)
	assert.Equal(t, "requests", c.States(0)[0].Name, "the first are kept")
}

// Rule 4.
func TestWhatIsLeft(t *testing.T) {
	c := newClient()
	c.sends(0, 1)
	c.reads(0, bucket(100, 20, 80*sec))
	left := func(now time.Duration) float64 { return c.States(now)[0].Left }
	assert.Equal(t, 30., left(10*sec), "1 a second came back")
	assert.Equal(t, 100., left(900*sec))
	c.sends(10*sec, 3)
	c.Noted(10*sec, Head{Number: 2})
	c.Noted(10*sec, Head{Number: 3, Head: answer.Head{Refused: true}})
	assert.Equal(t, 29., left(10*sec), "one was accepted without a report")
	// In flight is one, so 28 are left, and waiting are more: 10 are kept.
	assert.Zero(t, c.Due(10*sec, 1, 100))
	assert.Equal(t, 13*sec, c.Due(10*sec, 21, 100), "8 are left, 11 are needed")

	// A request spends the mean fall since the last reset, never more than the limit.
	tokens := func(left float64, reset time.Duration) answer.Quota {
		return answer.Quota{Name: "tokens", Amounts: true, Limit: 1000, Left: left, Reset: reset}
	}
	c = newClient()
	for i, rest := range []float64{1000, 900, 700, 400} {
		c.sends(time.Duration(i), 1)
		c.reads(time.Duration(i), tokens(rest, 90*sec))
	}
	assert.Equal(t, (1+100+200+300)/4., c.all[0].cost(0))
	c.sends(89*sec, 1)
	c.reads(89*sec, tokens(400-150.25, 90*sec))
	assert.InDelta(t, (1+100+200+300+150.25)/5., c.all[0].cost(0), 1e-9)
	c.all[0].fell, c.all[0].answers, c.all[0].weight = 601, 4, 4
	c.sends(91*sec, 1)
	c.reads(91*sec, tokens(990, 90*sec))
	assert.Equal(t, (1+100+200+300)/4., c.all[0].cost(0), "what it was before")
	c.sends(91*sec, 1)
	c.reads(91*sec, tokens(980, 90*sec))
	assert.Equal(t, (150.25+10)/2, c.all[0].cost(0))
	c.all[0].fell = 1e9
	assert.Equal(t, 1000., c.all[0].cost(0))
	c.all[0].fell = 0.1
	assert.Equal(t, 1., c.all[0].cost(0))
}

// Rule 4: "its amount (`aimd.WithAmount`) times the mean fall for each amount"
func TestAmountsThatAreSaid(t *testing.T) {
	c := newClient()
	tokens := func(amount, left float64, refused bool) bool {
		c.sends(0, 1)
		r := answer.Quota{Name: "tokens", Amounts: true, Limit: 1000, Left: left, Reset: 90 * sec}
		return c.Noted(0, Head{Number: c.number, Amount: amount, Head: answer.Head{Refused: refused, Reports: []answer.Quota{r}}})
	}
	cost := func(amount float64) float64 { return c.all[0].cost(amount) }
	tokens(50, 800, false)
	assert.Equal(t, []float64{50, 50, 100}, []float64{cost(50), cost(0), cost(100)}, "not known yet: as much as is said")
	c = newClient()
	c.sends(0, 3)
	c.Noted(0, Head{Number: 2, Amount: 50, Head: answer.Head{Reports: []answer.Quota{{Name: "tokens", Amounts: true, Limit: 1000, Left: 800, Reset: 90 * sec}}}})
	c.Noted(0, Head{Number: 1, Amount: 999, Head: answer.Head{Reports: []answer.Quota{{Name: "tokens", Amounts: true, Limit: 1000, Left: 850, Reset: 90 * sec}}}})
	tokens(99, 602, false)
	const each = (50 + 198.) / (50 + 99) // as much as is said of the first two, whose fall is not known
	assert.Equal(t, each*100, cost(100))
	assert.InDelta(t, 124, cost(0), 1e-9, "the mean")

	// In flight are one of 100 and one that says nothing, so 311.6 are left.
	c.Pending, c.Said = 100, 1
	for next, want := range map[float64]time.Duration{187: 0, 188: 91 * sec} {
		c.Next = next
		assert.Equal(t, want, c.Due(0, 2, 1), "%v", next)
	}
	c.Next = 0
	c.sends(0, 1)
	c.Noted(0, Head{Number: c.number, Amount: 100})
	assert.InDelta(t, 602-each*100, c.States(0)[0].Left, 1e-9, "accepted without a report")

	// A refusal whose amount is not left is for the quota.
	assert.False(t, tokens(81, 300, true))
	assert.True(t, tokens(82, 300, true))

	_, above := c.Above(0, 1000)
	assert.False(t, above)
	q, above := c.Above(0, 1001)
	assert.True(t, above, "the fall is no proof")
	assert.Equal(t, State{Name: "tokens", Limit: 1000}, q)
	c.all[0].fell = c.all[0].weight / 2
	_, above = c.Above(0, 1999)
	assert.False(t, above, "it falls by half of the amounts")
	_, above = c.Above(0, 2001)
	assert.True(t, above)

	// An hour after the report one goes, and then none for an hour, whatever else is sent.
	_, above = c.Above(time.Hour, 2001)
	assert.False(t, above)
	for at, next := range []float64{2001, 1999} {
		c.Next = next
		c.sends(time.Hour+time.Duration(at)*sec, 1)
	}
	_, above = c.Above(2*time.Hour-1, 2001)
	assert.True(t, above)
	_, above = c.Above(2*time.Hour, 2001)
	assert.False(t, above)
}

// Rule 5: more waits than is left, so the last tenth is spread, or the share of the reserve.
func TestFreeThenEven(t *testing.T) {
	for _, c := range []struct {
		left, reserve float64
		waiting       int
		want          time.Duration
	}{
		{left: 11, waiting: 12},
		{left: 10, waiting: 10},
		{left: 10, waiting: 11, want: 90 * sec / 11},
		{left: 5, waiting: 11, want: 90 * sec / 6},
		{left: 1, waiting: 11, want: 90 * sec / 2},
		{left: 51, reserve: 0.5, waiting: 1},
		{left: 50, reserve: 0.5, waiting: 1, want: 90 * sec / 51},
	} {
		q := newClient()
		q.Reserve = c.reserve
		q.sends(0, 1)
		q.reads(0, window(100, c.left, 90*sec-1))
		assert.InDelta(t, c.want, q.Due(0, 0, c.waiting), 10, "%+v", c)
	}
}

// Rule 5: a window that falls by more than 1.05 for each accepted request is spread, by what it falls.
func TestOthersSpendTheWindowToo(t *testing.T) {
	for fell, want := range map[float64]time.Duration{
		21: 0, 22: sec * 90 * 23 / 21 * 21 / (478*21 + 23),
	} {
		c := newClient()
		c.sends(0, 1)
		c.reads(0, window(1000, 500, 90*sec-1))
		c.sends(0, 20)
		for i := range 20 {
			c.Noted(0, Head{Number: uint64(i + 2), Head: answer.Head{Reports: []answer.Quota{window(1000, 500-fell/20*float64(i+1), 90*sec-1)}}})
		}
		assert.InDelta(t, want, c.Due(0, 0, 1000), float64(10*time.Millisecond), "%v", fell)
		c.Reserve = 0.1
		assert.Zero(t, c.Due(0, 0, 1000), "a share that the program set stays")
	}
	// What they spent before a reset counts as one request.
	c := newClient()
	for i := range 150 {
		now := time.Duration(i/20) * 100 * sec
		c.sends(now, 1)
		c.reads(now, window(1000, 997-3*float64(i%20), 90*sec-1))
	}
	assert.Positive(t, c.Due(700*sec, 0, 1000))
	for i := range 100 {
		c.sends(800*sec, 1)
		c.reads(800*sec, window(1000, 999-float64(i), 90*sec-1))
	}
	assert.Zero(t, c.Due(800*sec, 0, 1000))
}

// Rule 6.
func TestAQuotaThatIsUsedUp(t *testing.T) {
	for _, c := range []struct {
		left   float64
		reset  time.Duration
		jitter luck
		want   time.Duration
	}{
		{0, 90*sec + 1, 0, 90*sec + 1},
		{0, 90 * sec, 0, 91 * sec},
		{0, 90 * sec, 1, 92 * sec},
		{0, sec / 2, 1, sec * 3 / 4},
		{0, 0, 0, sec},
		{1, 0, 0, 0},
		{999, 0, 0, 0},
		{0, -1, 0, 0},
	} {
		q := newClient()
		q.Rand = c.jitter
		q.sends(0, 1)
		q.reads(0, window(1000, c.left, c.reset))
		assert.Equal(t, c.want, q.Due(0, 0, 1000), "%+v", c)
		assert.Equal(t, c.want, q.States(0)[0].Until, "%+v", c)
	}
}

// Rule 6: Anthropic's resets are in whole seconds, so 0 may be most of one.
func TestABucketWhoseResetIsZero(t *testing.T) {
	c := newClient()
	c.sends(0, 1)
	c.reads(0, bucket(100, 0, 0))
	assert.Equal(t, 110*time.Millisecond, c.Due(0, 0, 100), "11 of 100 a second")
	c.sends(0, 1)
	c.reads(0, bucket(100, 10, 0))
	assert.InDelta(t, sec/90, c.Due(0, 0, 100), 10)
	c.sends(0, 1)
	c.reads(0, bucket(100, 100, 0))
	assert.Zero(t, c.Due(0, 0, 100))
}

// Rule 6: the longest reset of a quota decides, so that the end of a window of a minute counts.
func TestAQuotaThatComesBackSoonIsNoReasonToWait(t *testing.T) {
	for _, kind := range []func(limit, left float64, reset time.Duration) answer.Quota{window, bucket} {
		c := newClient()
		c.Soon = 300 * time.Millisecond
		c.sends(0, 1)
		refused := func(reset time.Duration) bool {
			return c.Noted(0, Head{Number: 1, Head: answer.Head{Refused: true, RetryAfter: sec, Reports: []answer.Quota{kind(8, 0, reset)}}})
		}
		assert.False(t, refused(300*time.Millisecond), "it is for the window")
		assert.Zero(t, c.Due(0, 0, 1))
		assert.Zero(t, c.States(0)[0].Until)
		assert.True(t, refused(301*time.Millisecond))
		assert.True(t, refused(300*time.Millisecond), "a longer one was told")
		assert.NotZero(t, c.Due(0, 0, 1))
		c.Soon *= 2
		assert.Zero(t, c.Due(0, 0, 1), "answers take longer")
	}
}

// Rule 3: the quota that is used up for longest decides, wherever it stands.
func TestWhichQuotaIsUsedUpForLongest(t *testing.T) {
	c := newClient()
	_, ok := c.UsedUp(0, 0)
	assert.False(t, ok)
	c.sends(0, 1)
	hour := answer.Quota{Name: "hour", Limit: 60, Reset: time.Hour}
	minute := answer.Quota{Name: "minute", Limit: 60, Reset: time.Minute}
	c.reads(0, minute, hour, answer.Quota{Name: "second", Limit: 60, Reset: sec})
	longest, ok := c.UsedUp(0, 0)
	assert.True(t, ok)
	assert.Equal(t, State{Name: "hour", Limit: 60, Back: longest.Until, Until: longest.Until}, longest)
	assert.InDelta(t, time.Hour, longest.Until, float64(2*sec))
	assert.Len(t, c.States(0), 3)
}

// Rule 7.
func TestNoWaitWithoutAQuestion(t *testing.T) {
	c := newClient()
	c.MaxRetryAfter = 5 * time.Minute
	c.sends(sec, 1)
	c.reads(2*sec, window(60, 0, time.Hour+1))
	assert.Equal(t, sec+5*time.Minute, c.Due(2*sec, 0, 1))
	c.sends(sec+5*time.Minute, 1)
	assert.Equal(t, sec+10*time.Minute, c.Due(sec+5*time.Minute, 1, 1))
	c.Asked(6 * time.Minute)
	assert.Equal(t, 6*time.Minute, c.Due(6*time.Minute, 1, 1))
	c.sends(6*time.Minute, 1)
	assert.Equal(t, 11*time.Minute, c.Due(6*time.Minute, 1, 1), "one asks")

	// At the reset one asks, and one more each second until the answer.
	end := time.Hour + 2*sec + 1
	assert.LessOrEqual(t, c.Due(end, 1, 1), end)
	c.sends(end, 1)
	assert.Equal(t, end+sec, c.Due(end, 2, 1))
	c.reads(end, window(60, 59, time.Hour+1))
	assert.Zero(t, c.Due(end, 0, 50))
}

// Rule 7: the answer to the question decides, also if it reports no quota, or another one.
func TestAServiceThatReportsNoLonger(t *testing.T) {
	for _, reports := range [][]answer.Quota{nil, {{Name: "other", Limit: 60, Left: 60, Reset: sec}}} {
		c := newClient()
		c.sends(0, 1)
		c.reads(0, window(60, 0, 90*sec+1))
		c.sends(91*sec, 1)
		assert.Equal(t, 92*sec, c.Due(91*sec, 1, 9))
		c.reads(91*sec, reports...)
		assert.Zero(t, c.Due(91*sec, 0, 1000))
	}
}

// Rule 8: 60 come back in 60 s, so twice that is 20 in 10 s, and one more.
func TestDeedsCountMoreThanWords(t *testing.T) {
	for name, told := range map[string]answer.Quota{"window": window(60, 0, 60*sec), "bucket": bucket(60, 0, 60*sec)} {
		t.Run(name, func(t *testing.T) {
			for _, other := range []bool{false, true} {
				c := newClient()
				c.sends(0, 100)
				c.Noted(0, Head{Number: 1, Head: answer.Head{Reports: []answer.Quota{told}}})
				again := told
				if other {
					again.Name = "another"
				}
				for i := range 20 {
					c.Noted(10*sec, Head{Number: uint64(i + 2), Head: answer.Head{Reports: []answer.Quota{again}}})
				}
				assert.NotZero(t, c.Due(10*sec, 0, 1), "believed")
				c.Noted(10*sec, Head{Number: 22, Head: answer.Head{Reports: []answer.Quota{again}}})
				assert.NotZero(t, c.all[0].due(10*sec, &c.Quotas, 0, 1), "believed")
				c.Noted(10*sec, Head{Number: 23, Head: answer.Head{Reports: []answer.Quota{again}}})
				assert.Zero(t, c.all[0].due(10*sec, &c.Quotas, 0, 1), "untrue")
				assert.False(t, c.Noted(10*sec, Head{Number: 24, Head: answer.Head{Refused: true, RetryAfter: sec, Reports: []answer.Quota{told}}}))
				c.sends(11*sec, 1)
				c.reads(11*sec, told)
				assert.Zero(t, c.all[0].due(11*sec, &c.Quotas, 0, 1))
				told := told
				told.Limit = 61
				c.reads(11*sec, told)
				assert.NotZero(t, c.all[0].due(11*sec, &c.Quotas, 0, 1), "another limit")
			}
		})
	}
}

// Rule 8 does not take an honest service for a liar: in a window each accepted request leaves one less, after the
// reset it begins again, and answers without a report may be older than the report.
func TestHonestReportsAreBelieved(t *testing.T) {
	c := newClient()
	for w := range time.Duration(3) {
		for left := 59; left >= 0; left-- {
			c.sends(w*90*sec, 1)
			c.reads(w*90*sec, window(60, float64(left), 60*sec))
		}
		assert.NotZero(t, c.Due(w*90*sec, 0, 1))
	}
	c = newClient()
	c.sends(0, 100)
	c.Noted(0, Head{Number: 100, Head: answer.Head{Refused: true, Reports: []answer.Quota{window(60, 0, 60*sec)}}})
	for i := range 60 {
		c.Noted(0, Head{Number: uint64(i + 1)})
	}
	assert.NotZero(t, c.Due(0, 0, 1))
}

// Rule 9.
func TestARefusalForAUsedQuota(t *testing.T) {
	short := func(r answer.Quota, after time.Duration, stop bool) (bool, time.Duration) {
		c := newClient()
		c.MaxRetryAfter = 5 * time.Minute
		c.sends(0, 1)
		short := c.Noted(0, Head{Number: 1, Head: answer.Head{Refused: true, RetryAfter: after, Stop: stop, Reports: []answer.Quota{r}}})
		return short, c.Due(0, 0, 1)
	}
	for _, c := range []struct {
		r     answer.Quota
		after time.Duration
		stop  bool
		short bool
		due   time.Duration
	}{
		{r: window(60, 0, 90*sec+1), short: true, due: 90*sec + 1},
		{r: window(60, 0, 90*sec+1), after: 7 * sec, short: true, due: 7 * sec},
		{r: window(60, 0, -1), after: 7 * sec, short: true, due: 7 * sec},
		{r: window(60, 0, -1), after: time.Hour, short: true, due: 5 * time.Minute},
		{r: bucket(60, 0, 60*sec), after: 7 * sec, short: true, due: 7 * sec},
		{r: window(60, 0, time.Hour+1), after: time.Hour, stop: true, short: true, due: 5 * time.Minute},
		{r: window(60, 0, -1)},
		{r: window(60, 1, 90*sec+1), after: 7 * sec},
	} {
		isShort, due := short(c.r, c.after, c.stop)
		assert.Equal(t, c.short, isShort, "%+v", c)
		assert.Equal(t, c.due, due, "%+v", c)
	}
}

// Rule 10: package answer holds which numbers can be.
func TestNumbersThatCannotBe(t *testing.T) {
	c := newClient()
	c.sends(0, 1)
	c.reads(0, window(-1, 0, 90*sec))
	c.reads(0, answer.Quota{Name: "slots", InFlight: true, Limit: 1})
	assert.Empty(t, c.States(0), "0 left of no limit")
	c.reads(0, window(-1, 1, 90*sec))
	c.reads(0, window(-1, 0, 90*sec))
	assert.Equal(t, 1., c.States(0)[0].Limit, "the most that was left")
	c.reads(0, window(10, 20, 90*sec))
	assert.Equal(t, 10., c.States(0)[0].Left)
}

// Rule 8: deeds count from the report on, or again when it ends. 60 come back in 60 s.
func TestDeedsCountUpToTheReset(t *testing.T) {
	for again, want := range map[time.Duration]float64{45 * sec: 2, 60 * sec: 2, 61 * sec: 0, 110 * sec: 0} {
		c := newClient()
		told := window(60, 30, 60*sec)
		for _, at := range []time.Duration{0, 30 * sec, again} {
			c.sends(at, 1)
			c.reads(at, told)
		}
		assert.Equal(t, want, c.all[0].deeds, again)
	}
}
