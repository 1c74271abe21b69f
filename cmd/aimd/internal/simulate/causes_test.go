package simulate

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	library "github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate/scenario"
	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/window"
)

// reader follows a law by the table of causes in docs/laws.md: from the answers alone, and what it said before.
type reader struct {
	window.Explained
	t *testing.T
	// loaded: there was load. held: the window is held. inRow are the refusals since the last success.
	loaded, held bool
	inRow        int
	moves        *int
}

func (r *reader) Answered(now time.Duration, s window.State, a window.End) window.State {
	next := r.Explained.Answered(now, s, a)
	cause, phase := r.Explain()
	moved := next.Cwnd - s.Cwnd
	silence := r.inRow
	switch {
	case a.Outcome.Overloaded():
		r.inRow++
		require.Contains(r.t, []string{"chance", "own", "load", "outage"}, cause)
	case a.Outcome.Accepted():
		r.inRow = 0
		require.Contains(r.t, []string{"back", "used up", "own", "slow", "more", ""}, cause)
	default:
		return next
	}
	switch refused := a.Outcome.Overloaded(); cause {
	case "chance":
		require.False(r.t, r.loaded, "before the first load")
		require.Zero(r.t, moved)
	case "own":
		require.True(r.t, refused && r.loaded || r.held && phase == "", "after load, or a hold has its sample")
		require.True(r.t, !refused || moved == 0)
	case "load":
		r.loaded = true
		require.True(r.t, moved <= 0 || phase == "holding")
	case "outage":
		r.loaded = true
		require.Greater(r.t, r.inRow, 22)
		require.LessOrEqual(r.t, moved, 0.)
	case "back", "used up":
		require.Greater(r.t, silence, 2)
	case "slow":
		require.LessOrEqual(r.t, moved, s.Cwnd, "a look ends at most at the window before it")
	case "more":
		require.GreaterOrEqual(r.t, moved, 0.)
	case "":
		require.True(r.t, phase != "" || float64(2*a.Flying+2) <= 2*s.Cwnd+2, "a look goes on, or the window is not in use")
	}
	r.held = phase == "holding"
	if moved != 0 {
		*r.moves++
	}
	return next
}

// The table of causes in docs/laws.md gives the cause of each move, in eight scenarios: the first that a fixed seed draws.
func TestThePageGivesTheCauseOfEachMove(t *testing.T) {
	var points []scenario.Point
	for _, name := range scenario.Builtins() {
		if strings.HasPrefix(name, "law-") {
			s, err := load(name, nil)
			require.NoError(t, err)
			points = append(points, s.Points()...)
		}
	}
	r := rand.New(rand.NewPCG(52, 8))
	for played := 0; played < 8; {
		p := points[r.IntN(len(points))]
		if p.Clients.Operations > 20_000 || p.Clients.Count > 20 && p.Clients.Arrivals != "closed" {
			continue // many limiters, or a long run
		}
		played++
		t.Run(p.Name+strings.Join(p.At, " "), func(t *testing.T) {
			moves := 0
			law := func(s window.Settings) window.Law {
				return &reader{Explained: library.Probe()(s).(window.Explained), t: t, moves: &moves}
			}
			s := p.Scenario.Scenario
			s.NoTraces, s.Optimum = true, time.Second
			_, err := sim.Run(s, sim.Strategy{Name: "probe", Shared: p.Clients.Arrivals == "closed", Window: sim.Window{NewLaw: law}}, 1)
			require.NoError(t, err)
			require.Greater(t, moves, 20)
		})
	}
}
