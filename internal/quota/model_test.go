package quota

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// model is a service with a window, and the requests on their way.
type model struct {
	Quotas
	t             *testing.T
	now, ends     time.Duration
	left, refused int
	number        uint64
	sent          time.Duration
	// on their way to the service, and the answers on their way back
	there []uint64
	back  []Answer
}

const (
	modelLimit  = 20
	modelWindow = 10 * time.Second
)

// step does one thing: time passes, a request goes if it may, the service serves one, or an answer comes.
// The service and the answers take the requests in any order.
func (m *model) step(what, which uint8, lie bool) {
	switch what % 4 {
	case 0:
		m.now += time.Duration(which) * 10 * time.Millisecond
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
			m.back = append(m.back, m.served(m.there[i], lie))
			m.there = append(m.there[:i], m.there[i+1:]...)
		}
	case 3:
		if len(m.back) > 0 {
			i := int(which) % len(m.back)
			a := m.back[i]
			m.back = append(m.back[:i], m.back[i+1:]...)
			m.Answered(m.now, a)
			m.Ended(a.Number, !a.Refused)
		}
	}
}

func (m *model) served(number uint64, lie bool) Answer {
	if m.now >= m.ends {
		m.left, m.ends = modelLimit, m.now-m.now%modelWindow+modelWindow
	}
	a := Answer{Number: number, Refused: m.left == 0}
	if a.Refused {
		m.refused++
	} else {
		m.left--
	}
	r := Report{Name: "requests", Limit: modelLimit, Left: float64(m.left), Reset: m.ends - m.now}
	if lie {
		any := []float64{math.NaN(), math.Inf(1), -1, 0, 1e308, float64(m.left), float64(m.now)}
		r.Limit, r.Left = any[m.number%7], any[(m.number+uint64(m.left))%7]
		r.Reset = time.Duration(any[uint64(m.now)%7])
	}
	a.Reports = []Report{r}
	return a
}

// holds checks what is true after every step.
func (m *model) holds() {
	flying := len(m.there) + len(m.back)
	due := m.Due(m.now, m.sent, flying, 1)
	require.GreaterOrEqual(m.t, due, time.Duration(0))
	require.LessOrEqual(m.t, due, m.now+longest+3*exact)
	require.LessOrEqual(m.t, len(m.begun), flying)
	for i := range m.all {
		d := &m.all[i]
		require.GreaterOrEqual(m.t, d.use(0), 1.)
		require.False(m.t, math.IsNaN(d.left(m.now)) || math.IsInf(d.left(m.now), 0))
		require.GreaterOrEqual(m.t, d.rate, 0.)
	}
	require.LessOrEqual(m.t, len(m.all), most)
}

// A client that is alone and hears the truth is refused nothing once it has heard anything, whatever the
// order of the answers; whatever it hears, each wait is a time.
func FuzzQuotas(f *testing.F) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 1000)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(data, seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, lie bool) {
		m := &model{t: t}
		// The first answer shows the quota.
		m.step(1, 1, false)
		m.step(2, 0, false)
		m.step(3, 0, false)
		for ; len(data) > 1 && len(data) <= 2000; data = data[2:] {
			m.step(data[0], data[1], lie)
			m.holds()
		}
		if !lie {
			require.Zero(t, m.refused)
		}
	})
}
