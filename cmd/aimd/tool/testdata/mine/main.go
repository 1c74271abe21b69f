// Command mine is aimd with a law of its own: a window that never moves.
package main

import (
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/tool"
	"github.com/aimd-go/aimd/window"
)

type fixed struct{}

func (fixed) Answered(_ time.Duration, s window.State, _ window.End) window.State { return s }
func (fixed) Timed() bool                                                         { return false }

func main() {
	tool.Main(map[string]window.NewLaw{"mine": func(window.Settings) window.Law { return fixed{} }})
}
