// Package tool is the command aimd, for a program that adds a control law of its own: see the example of Main.
// The law is then a strategy of the demos, and of every table and figure of aimd sim, except maps. The command
// upload accepts its name.
package tool

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/again"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo"
	"github.com/aimd-go/aimd/cmd/aimd/internal/proxy"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload"
)

// Main runs the command line of the program, and exits: with 0 after success, 1 after a failure, 2 if the
// command line is wrong, 130 after an interruption. Call it from main, after all calls of sim.Register.
func Main() {
	os.Exit(cli.Tool{Commands: commands(), Stdout: os.Stdout, Stderr: os.Stderr}.Run(context.Background(), os.Args[1:]...))
}

func commands() []*cobra.Command {
	return []*cobra.Command{
		demo.Command(), simulate.Command(), again.Command(), upload.Command(), proxy.Command(),
	}
}
