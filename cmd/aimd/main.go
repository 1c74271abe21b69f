// Command aimd shows what congestion control is worth to a client of a service that
// takes only so much, and uploads files with it:
//
//	aimd demo       uploads objects to a store that says SlowDown, once per strategy
//	aimd demo api   sends requests to an API that says 429, once per strategy
//	aimd sim        simulates services, clients and strategies, and draws figures
//	aimd backoff    chooses the delays between retries
//	aimd retry      runs a command until it succeeds, with backoff
//	aimd server     is a service that slows down under load
//	aimd client     is a thousand clients of it, with the strategy of your choice
//	aimd upload     uploads files and directories to S3, verified and resumable
//	aimd man        writes the manual pages; aimd completion, a shell's completion
//
// Every command has -h with examples.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/again"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/delays"
	"github.com/aimd-go/aimd/cmd/aimd/internal/demo"
	"github.com/aimd-go/aimd/cmd/aimd/internal/load"
	"github.com/aimd-go/aimd/cmd/aimd/internal/simulate"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload"
)

func main() {
	os.Exit(cli.Tool{Commands: commands(), Stdout: os.Stdout, Stderr: os.Stderr}.Run(context.Background(), os.Args[1:]...))
}

func commands() []*cobra.Command {
	return []*cobra.Command{
		demo.Command(), simulate.Command(), delays.Command(), again.Command(), load.ServerCommand(), load.ClientCommand(), upload.Command(cli.Usage),
	}
}
