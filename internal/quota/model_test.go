package quota

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// model is a service with a quota, and the requests on their way.
type model struct {
	Quotas
	// bucket: the quota comes back at a rate, and not all at the end of a window.
	bucket    bool
	now, full time.Duration
	left      float64
	refused   int
	number    uint64
	sent      time.Duration
	// on their way to the service, and the answers on their way back
	there []uint64
	back  []returning
}

// returning is an answer on its way back.
type returning struct {
	Answer
	left time.Duration
}

const (
	modelLimit  = 20
	modelWindow = 10 * time.Second
	// modelDelay is how long an answer takes at most. If it took longer, its reset would seem later by more
	// than resets in whole seconds differ.
	modelDelay = exact
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
		if due := m.Due(m.now, m.sent, len(m.there)+len(m.back), int(which)); due <= m.now {
			m.number++
			m.sent = m.now
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

func (m *model) answered(i int) {
	a := m.back[i].Answer
	m.back = append(m.back[:i], m.back[i+1:]...)
	m.Answered(m.now, a)
	m.Ended(a.Number, !a.Refused)
}

func (m *model) served(number uint64, lie bool) Answer {
	const back = modelLimit / float64(modelWindow)
	switch {
	case m.bucket:
		m.left = modelLimit - back*float64(max(0, m.full-m.now))
	case m.now >= m.full:
		m.left, m.full = modelLimit, m.now-m.now%modelWindow+modelWindow
	}
	a := Answer{Number: number, Refused: m.left < 1}
	if a.Refused {
		m.refused++
	} else if m.left--; m.bucket {
		m.full = max(m.full, m.now) + modelWindow/modelLimit
	}
	r := Report{Name: "requests", Limit: modelLimit, Left: math.Floor(m.left), Reset: m.full - m.now}
	if lie {
		any := []float64{math.NaN(), math.Inf(1), -1, 0, 1e308, m.left, float64(m.now)}
		r.Limit, r.Left = any[m.number%7], any[(m.number+uint64(max(0, m.left)))%7]
		r.Reset = time.Duration(any[uint64(m.now)%7])
	}
	a.Reports = []Report{r}
	return a
}

// wrong is what does not hold after a step, "" if all does. It costs little: a run has many steps.
func (m *model) wrong() string {
	flying := len(m.there) + len(m.back)
	switch due := m.Due(m.now, m.sent, flying, 1); {
	case due < 0 || due > m.now+longest+3*exact:
		return fmt.Sprintf("the next request may go at %v", due)
	case len(m.begun) > flying:
		return fmt.Sprintf("%d answers have begun of %d requests", len(m.begun), flying)
	case len(m.all) > most:
		return fmt.Sprintf("%d quotas", len(m.all))
	}
	for i := range m.all {
		d := &m.all[i]
		use, left := d.use(0), d.left(m.now)
		if !(use >= 1 && left-left == 0 && d.rate >= 0) {
			return fmt.Sprintf("a request spends %v of %v, %v comes back in a second", use, left, d.rate)
		}
	}
	return ""
}

// A client that is alone and reads the truth is hardly refused once it has read a report, whatever the order
// of the answers; whatever it reads, each wait is a time. The steps are drawn from a seed: with bytes for the
// steps Go's fuzzing spends nearly all of its time on making an input of new coverage shorter.
func FuzzQuotas(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, uint16(500), seed%2 == 0, seed%4 < 2)
	}
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16, lie, bucket bool) {
		r, m := rand.New(rand.NewPCG(seed, 1)), &model{bucket: bucket}
		// The first answer shows the quota.
		m.step(1, 1, false)
		m.step(2, 0, false)
		m.step(3, 0, false)
		for range steps % 1000 {
			m.step(uint8(r.Uint32()), uint8(r.Uint32()), lie)
			if wrong := m.wrong(); wrong != "" {
				t.Fatal(wrong)
			}
		}
		if !lie && m.refused > 5 { // a window may seem to be a bucket, if the answers take up to a second
			t.Fatalf("%d refused", m.refused)
		}
	})
}
