// Package command is the command line: it reads and checks the flags, calls
// what does the work, and writes what comes out of it.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/cmd/aimd/internal/interrupt"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload"
)

// Exit statuses.
const (
	exitFailed = 1
	// exitUsage: the command line is wrong, nothing was done.
	exitUsage       = 2
	exitInterrupted = interrupt.Status
)

// errInterrupted ends a command that the user stopped.
var errInterrupted = errors.New("interrupted")

// usageError is an error in the command line.
type usageError struct {
	error
	command string
}

func (e usageError) Unwrap() error { return e.error }

// Run runs the command line and returns the exit status. The first interrupt
// stops it cleanly, the second at once.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctx, stop := interrupt.Context(ctx)
	defer stop()

	root := root()
	root.SetArgs(longFlags(args))
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted), ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "aimd: interrupted")
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "aimd: %v\nTry: %s -h\n", err, usage.command)
		return exitUsage
	}
	fmt.Fprintf(stderr, "aimd: %v\n", err)
	return exitFailed
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "aimd",
		Short: "Adapt concurrency to what a service takes, by TCP congestion control",
		Long: `aimd adapts the number of requests in flight to what a service takes, as TCP
adapts to a network: successes widen a window, the first refusal of each burst
narrows it, and nothing is lost. This tool shows what that is worth, and uploads.`,
		Example: `  aimd demo                           # S3 uploads against a store that says SlowDown
  aimd demo --quick                   # the same in some ten seconds
  aimd demo api                       # a worker pool against an API that says 429
  aimd upload photos s3://backup/pic  # your own files, verified and resumable
  aimd sim run seed4                  # what a strategy does to a service, simulated
  aimd server -h                      # a service to crash with aimd client, and to save
  aimd backoff plan -h                # which delays between retries a service bears`,
		Args:          noArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.CompletionOptions.HiddenDefaultCmd = true
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usageError{err, c.CommandPath()} })
	c.AddCommand(demoCommand(), simCommand(), backoffCommand(), serverCommand(), clientCommand(), upload.Command(func(c *cobra.Command, err error) error { return usageError{err, c.CommandPath()} }))
	return c
}

// noArgs refuses arguments as an error of usage.
func noArgs(c *cobra.Command, args []string) error {
	if err := cobra.NoArgs(c, args); err != nil {
		return usageError{err, c.CommandPath()}
	}
	return nil
}

// longFlags lets long flags have a single dash, as Go's own tools do: -quick is
// --quick. There are no grouped short flags that it could be taken for.
func longFlags(args []string) []string {
	out := make([]string, 0, len(args))
	for i, a := range args {
		if a == "--" {
			return append(out, args[i:]...)
		}
		if len(a) > 2 && a[0] == '-' && 'a' <= a[1] && a[1] <= 'z' {
			a = "-" + a
		}
		out = append(out, a)
	}
	return out
}
