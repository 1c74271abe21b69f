package tool_test

import (
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/tool"
	"github.com/aimd-go/aimd/window"
)

// halved is a law that only ever shrinks.
type halved struct{}

func (halved) Answered(_ time.Duration, s window.State, a window.End) window.State {
	if a.Outcome.Overloaded() && !a.Ignored {
		s.Cwnd /= 2
	}
	return s
}

func (halved) Timed() bool { return false }

// The main.go of a tool with a law of one's own: go run . sim run law-50-slots
func ExampleMain() {
	tool.Main(map[string]window.NewLaw{ // github.com/aimd-go/aimd/cmd/aimd/tool
		"halved": func(window.Settings) window.Law { return halved{} },
	})
}
