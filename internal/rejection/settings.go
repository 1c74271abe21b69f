package rejection

import (
	"cmp"
	"math/rand/v2"
	"time"

	"github.com/aimd-go/aimd/internal/setting"
)

const (
	// DefaultWindow: "each client task keeps the following information for the last two minutes of its
	// history: requests, accepts" (SRE book, chapter 21).
	DefaultWindow = 2 * time.Minute
	// DefaultK: "we generally prefer the 2x multiplier" (SRE book, chapter 21). Twice as much as the
	// service accepts reaches it, so that a service that takes more again is noticed soon.
	DefaultK = 2.0
	// DefaultProbe: our choice. If all requests are refused, the formula alone lets about one pass in a
	// window; a service that is back would be found after minutes.
	DefaultProbe = time.Second
)

// Settings has the rules of a Core, as throttle.Config. A nil Rand is a source with a fixed seed.
type Settings struct {
	Window time.Duration
	K      float64
	Probe  time.Duration
	Rand   *rand.Rand
}

func (s Settings) withDefaults() (Settings, error) {
	s.Rand = cmp.Or(s.Rand, rand.New(rand.NewPCG(3, 3)))
	err := cmp.Or(
		setting.Duration("Window", &s.Window, DefaultWindow, time.Second, time.Hour),
		setting.Number("K", &s.K, DefaultK, 1, 100),
	)
	if s.Probe = cmp.Or(s.Probe, DefaultProbe); s.Probe < time.Millisecond || s.Probe > s.Window {
		err = cmp.Or(err, setting.Wrong("Probe", s.Probe, "a duration from 1ms to the window, %v", s.Window))
	}
	return s, err
}
