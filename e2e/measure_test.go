package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// law is a control law under test.
type law struct {
	name string
	new  func(aimd.Config) (*aimd.Limiter, error)
}

var (
	probe = law{"probe", aimd.New}
	reno  = law{"reno 0.9", func(config aimd.Config) (*aimd.Limiter, error) {
		config.Law = aimd.Reno(0.9)
		return aimd.New(config)
	}}
	laws = []law{probe, reno}
	// onlyProbe is for services at which Reno is known to do badly.
	onlyProbe = laws[:1]
)

func (w law) limiter(t *testing.T, config aimd.Config) *aimd.Limiter {
	t.Helper()
	l, err := w.new(config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// cost is a job's time over the shortest possible time, and its attempts for each operation.
type cost struct {
	span, attempts float64
	// slower is the median round trip over the round trip of a single request. Some jobs do not
	// measure it. As a bound, 0 is no bound.
	slower float64
}

func (c cost) within(most cost) bool {
	return c.span <= most.span && c.attempts <= most.attempts && (most.slower == 0 || c.slower <= most.slower)
}

func (c cost) String() string {
	s := fmt.Sprintf("%.3f x optimum @ %.3f attempts each", c.span, c.attempts)
	if c.slower > 0 {
		s += fmt.Sprintf(", each %.2f x as long as alone", c.slower)
	}
	return s
}

// runs is E2E_RUNS, how often each law runs if laws are compared; 0: they are not compared.
func runs(t *testing.T) int {
	t.Helper()
	if !earnest() {
		return 0
	}
	n, err := strconv.Atoi(os.Getenv("E2E_RUNS"))
	require.NoError(t, err, "E2E_RUNS is a number of runs")
	return n
}

// noise multiplies the bounds on time, and strays is added to the bound on attempts, if a test
// runs once and other tests run at the same time. Reno 0.9 takes 1.4 to 3 attempts at limits
// that count refusals, so that the gate still finds a law that does not adapt.
const (
	noise  = 2
	strays = 0.25
)

// eased is the bound on this machine: for the figures of one run among others, unless the figures count.
func (c cost) eased() cost {
	return amount(c, cost{noise * c.span, c.attempts + strays, noise * c.slower})
}

// attempt runs a test that measures, up to three times until its figures are good, since other
// work on the machine can only make them worse. Each run requires on its own whatever must hold
// on every machine.
func attempt(t *testing.T, measure func(t *testing.T) (good bool)) {
	t.Helper()
	for range 3 {
		var good bool
		if !t.Run("run", func(t *testing.T) { good = measure(t) }) || good {
			return
		}
	}
	t.Error("the figures were not good in any of three runs")
}

// judge holds the cost of each judged law to the bound. With E2E_RUNS, for a quiet machine, the
// cost is the median of that many runs of all laws in turn. Without, it is the best of up to
// three runs, and the bound allows for noise.
func judge(t *testing.T, most cost, judged []law, run func(t *testing.T, w law) cost) {
	t.Helper()
	n := runs(t)
	if n == 0 {
		for _, w := range judged {
			t.Run(w.name, func(t *testing.T) {
				attempt(t, func(t *testing.T) bool { return run(t, w).within(most.eased()) })
			})
		}
		return
	}
	all := map[string][]cost{}
	for range n {
		for _, w := range laws {
			t.Run(w.name, func(t *testing.T) { all[w.name] = append(all[w.name], run(t, w)) })
		}
	}
	for _, w := range laws {
		m := median(t, all[w.name])
		figures.log(t, "median of %d, %-8s %v", n, w.name, m)
		isJudged := slices.ContainsFunc(judged, func(o law) bool { return o.name == w.name })
		assert.True(t, m.within(most) || !isJudged, "%s takes %v; wanted are at most %v", w.name, m, most)
	}
}

// median returns the median of each figure on its own.
func median(t *testing.T, all []cost) cost {
	t.Helper()
	require.NotEmpty(t, all)
	of := func(figure func(cost) float64) float64 {
		var f []float64
		for _, c := range all {
			f = append(f, figure(c))
		}
		slices.Sort(f)
		return f[len(f)/2]
	}
	return cost{
		span:     of(func(c cost) float64 { return c.span }),
		attempts: of(func(c cost) float64 { return c.attempts }),
		slower:   of(func(c cost) float64 { return c.slower }),
	}
}

func percentile(all []time.Duration, p float64) time.Duration {
	slices.Sort(all)
	return all[int(p*float64(len(all)-1))]
}

func ratio(took, optimum time.Duration) float64 { return took.Seconds() / optimum.Seconds() }
