// Package tool is the command aimd, for a program that adds a control law of its own: see the example of Main.
// The law is then a strategy of the demos, and of every table and figure of aimd sim, except maps. The command
// upload accepts its name.
package tool

import (
	"context"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/again"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo"
	"github.com/aimd-go/aimd/cmd/aimd/internal/proxy"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload"
	"github.com/aimd-go/aimd/internal/sim"
	"github.com/aimd-go/aimd/window"
)

// Main runs the command line of the program, and exits: with 0 after success, 1 after a failure, 2 if the
// command line is wrong, 130 after an interruption. Each of the laws is known by its name, wherever a law is named;
// nil: the library's alone. Main panics if a name is empty, has blanks, or is the name of a law or a strategy, or if
// a law is nil. Call it once, from main.
//
// The tool is built from packages of the root module that are not public. So update both modules together.
func Main(laws map[string]window.NewLaw) {
	for _, name := range slices.Sorted(maps.Keys(laws)) {
		sim.Register(name, laws[name])
	}
	os.Exit(cli.Tool{Commands: commands(), Stdout: os.Stdout, Stderr: os.Stderr}.Run(context.Background(), os.Args[1:]...))
}

func commands() []*cobra.Command {
	return []*cobra.Command{
		demo.Command(), simulate.Command(), again.Command(), upload.Command(), proxy.Command(),
	}
}
