// Package cli is the frame of the command line: its root command, exit statuses, and what its commands share.
package cli

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
)

// Exit statuses; 0 is success.
const (
	Failed = 1
	// WrongUsage reports a wrong command line, before any work.
	WrongUsage = 2
	// Interrupted is 128 and the number of SIGINT, as shells have it.
	Interrupted = 130
)

// Exit is the status of a command that has printed its error.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

type usageError struct {
	error
	command string
}

func (e usageError) Unwrap() error { return e.error }

// Usage marks an error as an error of the command line; nil stays nil.
func Usage(c *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return usageError{err, c.CommandPath()}
}

// Tool is a command line tool: its commands, and where they write.
type Tool struct {
	Commands       []*cobra.Command
	Stdout, Stderr io.Writer
}

// Run runs a command line, once, and returns the exit status. The first interrupt, or the
// end of its terminal, stops it cleanly, the second at once.
func (t Tool) Run(ctx context.Context, args ...string) int {
	ctx, stop := interruptible(ctx, os.Exit)
	defer stop()

	stdout, stderr := terminal.New(t.Stdout), terminal.New(t.Stderr)
	root := root(t.Commands, stdout, stderr)
	root.SetArgs(args)
	return status(ctx, cmp.Or(root.ExecuteContext(ctx), stdout.Failed.Load()), stderr) // what was not written is not done
}

func status(ctx context.Context, err error, stderr io.Writer) int {
	var usage usageError
	var exit Exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "aimd: interrupted")
		return Interrupted
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "aimd: %v\nTry: %s -h\n", err, usage.command)
		return WrongUsage
	}
	fmt.Fprintf(stderr, "aimd: %v\n", err)
	return Failed
}

//go:embed help
var help embed.FS

const helpWidth = 80

func root(commands []*cobra.Command, stdout, stderr io.Writer) *cobra.Command {
	c := Group(Help(help, &cobra.Command{
		Use: "aimd", Short: "Adapt concurrency to what a service takes, by TCP congestion control",
		SilenceUsage: true, SilenceErrors: true, Version: version(),
	}), commands...)
	c.SetOut(stdout) // completion takes it as it is made
	c.SetErr(stderr)
	c.InitDefaultCompletionCmd()
	completion, _, _ := c.Find([]string{"completion"})
	for _, shell := range Group(completion).Commands() {
		shell.Args = NoArgs
	}
	c.InitDefaultHelpCmd()
	help, _, _ := c.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, args []string) error {
		found, rest, _ := c.Find(args)
		return NoArgs(found, rest)
	}
	c.SetUsageFunc(usage)
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		var wrong *pflag.InvalidValueError
		if errors.As(err, &wrong) && wrong.GetFlag().Value.Type() == "bool" { // else by a function of Go
			err = fmt.Errorf("invalid argument %q for \"--%s\" flag: want true or false", wrong.GetValue(), wrong.GetFlag().Name)
		}
		return Usage(c, err)
	})
	return c
}

// usage is cobra's own, but for the width of the flags. A template for it would make aimd-proxy half as large again.
func usage(c *cobra.Command) error {
	out, text := c.OutOrStderr(), new(strings.Builder)
	c.SetOut(text)
	err := new(cobra.Command).UsageFunc()(c)
	c.SetOut(out)
	shown := text.String()
	for _, f := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
		shown = strings.Replace(shown, strings.TrimSpace(f.FlagUsages()), strings.TrimSpace(f.FlagUsagesWrapped(helpWidth)), 1)
	}
	fmt.Fprint(out, shown)
	return err
}

// Signal is the cause of the end of a command's context by a signal.
type Signal struct{ os.Signal }

func (s Signal) Error() string { return s.String() }

// Unwrap makes it a cancellation.
func (Signal) Unwrap() error { return context.Canceled }

// SignalOf returns the signal that ended the context, os.Interrupt if it ended in another way.
func SignalOf(ctx context.Context) os.Signal {
	if s := (Signal{}); errors.As(context.Cause(ctx), &s) {
		return s.Signal
	}
	return os.Interrupt
}

// interruptible returns a context that ends with the first SIGINT or SIGTERM, or with SIGHUP
// unless nohup ignores it. The second signal ends the program by exit. stop restores the signals.
func interruptible(parent context.Context, exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	var wg sync.WaitGroup
	wg.Go(func() { obey(ctx, cancel, signals, exit) })
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		wg.Wait() // the second signal decides the status
		cancel(nil)
	}
}

// doubled is the time in which the second signal is the first once more: timeout(1) sends its signal to the program, and to
// the program's group. Our choice.
const doubled = 200 * time.Millisecond

// obey ends the context at the first signal, and the program at the second. A closing terminal may send several SIGHUP.
func obey(ctx context.Context, cancel context.CancelCauseFunc, signals <-chan os.Signal, exit func(int)) {
	var first time.Time
	for s := range signals {
		switch {
		case ctx.Err() == nil:
			cancel(Signal{s})
			first = time.Now()
		case s != syscall.SIGHUP && time.Since(first) >= doubled:
			if end := second.Load(); end != nil {
				(*end)()
			}
			exit(Interrupted)
		}
	}
}

var second atomic.Pointer[func()]

// BySecond has the second signal call end before it ends the program, until forget is called. There is one at a time.
func BySecond(end func()) (forget func()) {
	second.Store(&end)
	return func() { second.Store(nil) }
}

// version is that of the module, which names the commit if it was built in a checkout, and that of Go.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	return info.Main.Version + " (" + info.GoVersion + ")"
}

// Help gives the command its texts, help/NAME.txt: the description, and the examples after "Examples:".
func Help(texts embed.FS, c *cobra.Command) *cobra.Command {
	text, err := texts.ReadFile("help/" + c.Name() + ".txt")
	if err != nil {
		panic(err) // it was not embedded
	}
	c.Long, c.Example, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n\nExamples:\n")
	return c
}

// Group is the command with others below it. Without such a command it shows its help.
func Group(c *cobra.Command, below ...*cobra.Command) *cobra.Command {
	c.Args = NoArgs
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.AddCommand(below...)
	return c
}

// NoArgs refuses arguments. It names the commands that are below the command.
func NoArgs(c *cobra.Command, args []string) error {
	err, sep := cobra.NoArgs(c, args), ", want "
	for _, below := range c.Commands() {
		if err != nil && below.IsAvailableCommand() {
			err, sep = fmt.Errorf("%w%s%s", err, sep, below.Name()), ", "
		}
	}
	return Usage(c, err)
}

// Flags are the command's own, to be shown in the order in which they are made.
func Flags(c *cobra.Command) *pflag.FlagSet {
	f := c.Flags()
	f.SortFlags = false
	return f
}

// NoDefault hides the defaults of flags that have no useful default.
func NoDefault(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f.Lookup(name).DefValue = ""
	}
}

// Complete lets the shell complete the flag's value, or each of several with commas between them.
func Complete(c *cobra.Command, flag string, words []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := begun[:strings.LastIndex(begun, ",")+1]
		var all []cobra.Completion
		for _, w := range words {
			all = append(all, before+w)
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // there is no such flag
	}
}
