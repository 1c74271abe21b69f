package quota

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/answer"
)

// model is a service with a quota, and the requests on their way.
type model struct {
	Quotas
	random *rand.Rand
	// bucket: the quota comes back at a rate, and not all at the end of a window. amounts: a request spends
	// 1 to 3. others: so much of it is spent by others in a second.
	bucket, amounts bool
	// says: each request says what it costs.
	says    bool
	others  float64
	now, at time.Duration
	left    float64
	refused int
	number  uint64
	// on their way to the service, and the answers on their way back
	there []uint64
	back  []returning
	// longest is the longest wait that an answer has told, heard when the last one was read.
	longest, heard time.Duration
}

type returning struct {
	Head
	left time.Duration
}

const (
	modelLimit  = 20
	modelWindow = 10 * time.Second
	// modelDelay is the time that an answer takes at most.
	modelDelay = time.Second
	modelMost  = time.Minute
)

// step does one thing: time passes, a request goes if it may, the service serves one, or an answer comes.
// The service and the answers take the requests in any order.
func (m *model) step(what, which uint8, lie bool) {
	switch what % 4 {
	case 0:
		until := m.now + time.Duration(which)*10*time.Millisecond
		for len(m.back) > 0 && m.back[0].left+modelDelay < until {
			m.now = max(m.now, m.back[0].left+modelDelay)
			m.answered(0)
		}
		m.now = until
	case 1:
		if due := m.due(int(which)); due <= m.now {
			m.number++
			m.Sent(m.now, m.number)
			m.there = append(m.there, m.number)
		}
	case 2:
		if len(m.there) > 0 {
			i := int(which) % len(m.there)
			m.back = append(m.back, returning{m.served(m.there[i], lie), m.now})
			m.there = append(m.there[:i], m.there[i+1:]...)
		}
	case 3:
		if len(m.back) > 0 {
			m.answered(int(which) % len(m.back))
		}
	}
}

func (m *model) due(waiting int) time.Duration {
	if m.says {
		m.Next, m.Pending, m.Said = cost(m.number+1), 0, len(m.there)+len(m.back)
		for _, number := range m.there {
			m.Pending += cost(number)
		}
		for _, a := range m.back {
			m.Pending += a.Amount
		}
	}
	return m.Due(m.now, len(m.there)+len(m.back), waiting)
}

// cost is what a request spends if requests spend amounts.
func cost(number uint64) float64 { return 1 + float64(number%3) }

func (m *model) answered(i int) {
	a := m.back[i].Head
	m.back = append(m.back[:i], m.back[i+1:]...)
	m.heard = m.now
	m.longest = max(m.longest, min(a.RetryAfter, modelMost))
	for _, r := range a.Reports {
		if r.Valid() {
			m.longest = max(m.longest, r.Reset)
		}
	}
	m.Noted(m.now, a)
}

// fill adds what has come back since, less what others spent.
func (m *model) fill() {
	before := m.at
	m.at = m.now
	since := (m.now - before).Seconds()
	m.left = max(0, m.left-m.others*since*m.random.Float64())
	switch {
	case m.bucket:
		m.left = min(modelLimit, m.left+modelLimit*since/modelWindow.Seconds())
	case m.now/modelWindow != before/modelWindow:
		m.left = modelLimit
	}
}

func (m *model) served(number uint64, lie bool) Head {
	m.fill()
	spent := 1.
	if m.amounts {
		spent = cost(number)
	}
	a := Head{Number: number, Head: answer.Head{Refused: m.left < spent}}
	if m.says {
		a.Amount = spent
	}
	if a.Refused {
		m.refused++
	} else {
		m.left -= spent
	}
	r := answer.Quota{Name: "requests", Bucket: m.bucket, Amounts: m.amounts, Limit: modelLimit, Left: math.Floor(m.left), Reset: modelWindow - m.now%modelWindow}
	if m.bucket {
		r.Reset = time.Duration((modelLimit - m.left) / modelLimit * float64(modelWindow))
	}
	if lie {
		any := []float64{math.NaN(), math.Inf(1), -1, 0, 1e308, m.left, float64(m.now)}
		r.Limit, r.Left = any[m.random.IntN(7)], any[m.random.IntN(7)]
		r.Reset = time.Duration(m.random.Int64N(int64(2 * time.Hour)))
		r.Name = string("ab"[m.random.IntN(2)])
		a.Refused, a.Stop = m.random.IntN(2) == 0, m.random.IntN(9) == 0
		a.RetryAfter = time.Duration(m.random.Int64N(int64(3 * modelMost)))
		if m.random.IntN(4) == 0 {
			return a
		}
	}
	a.Reports = []answer.Quota{r}
	return a
}

// wrong is what does not hold after a step, "" if all does. It costs little: a run has many steps.
func (m *model) wrong() string {
	if len(m.there)+len(m.back) == 0 {
		// A reset in whole seconds may be a second late, and jitter adds another one at most.
		due, told := m.due(1), max(m.heard, m.sent)+m.longest+2*time.Second
		if due > told {
			return fmt.Sprintf("at %v the next request may go at %v, the longest reset told ends at %v", m.now, due, told)
		}
		if due > max(m.sent+modelMost, m.stopped) {
			return fmt.Sprintf("at %v the next request may go at %v, the last one was sent at %v", m.now, due, m.sent)
		}
	}
	if len(m.all) > most {
		return fmt.Sprintf("%d quotas", len(m.all))
	}
	for i := range m.all {
		d := &m.all[i]
		use, left := d.cost(0), d.left(m.now)
		if !(use >= 1 && use <= d.Limit && left-left == 0 && d.rate() >= 0) {
			return fmt.Sprintf("a request spends %v of %v, %v comes back in a second", use, left, d.rate())
		}
	}
	return ""
}

// docs/quota.md, rule 7: with work waiting and nothing in flight, the next send comes no later than the longest
// reset told, and than MaxRetryAfter, unless a refusal spoke for all. A client that is alone and reads the
// truth is hardly refused, whatever the order of the answers. The steps are drawn from a seed: with bytes for
// the steps Go's fuzzing spends nearly all of its time on making an input of new coverage shorter.
func FuzzQuotas(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed, uint16(999), seed%2 == 0, seed%4 < 2, seed%8 < 4, seed%16 < 8)
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16, lie, bucket, amounts, others bool) {
		if wrong := sequence(seed, int(steps%1000), lie, bucket, amounts, others); wrong != "" {
			t.Fatal(wrong)
		}
	})
}

// The same for many seeds.
func TestTheNextSendComes(t *testing.T) {
	for seed := range uint64(3000) {
		wrong := sequence(seed, 200, seed%2 == 0, seed%4 < 2, seed%8 < 4, seed%16 < 8)
		assert.Empty(t, wrong, "seed %d", seed)
	}
}

// sequence is a run of steps. It returns what does not hold, "" if all does.
func sequence(seed uint64, steps int, lie, bucket, amounts, others bool) string {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &model{Quotas: Quotas{MaxRetryAfter: modelMost, Rand: r}, random: r, bucket: bucket, amounts: amounts, says: amounts && seed%5 > 0, left: modelLimit}
	if others {
		m.others = modelLimit / modelWindow.Seconds()
	}
	if seed%3 == 0 {
		m.Reserve = r.Float64()
	}
	// The first answer shows the quota.
	m.step(1, 1, false)
	m.step(2, 0, false)
	m.step(3, 0, false)
	for range steps {
		m.step(uint8(r.Uint32()), uint8(r.Uint32()), lie)
		if wrong := m.wrong(); wrong != "" {
			return wrong
		}
	}
	if !lie && !others && m.says == amounts && m.refused > 5 { // answers take up to a second
		return fmt.Sprintf("%d refused", m.refused)
	}
	return ""
}
