// Package again is aimd retry: it runs a command, and repeats it if that may help.
package again

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/backoff"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/terminal"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/retry"
)

//go:embed help
var help embed.FS

type job struct {
	form     form
	attempts int
	// total bounds the job, each bounds a try. 0 is no bound.
	total, each time.Duration
	rules       rules
	sense       string
	plan        time.Duration
	quiet       bool
}

// Command is aimd retry.
func Command() *cobra.Command {
	j := &job{form: form{name: "exponential"}, attempts: 10}
	c := cli.Help(help, &cobra.Command{
		Use: "retry [flags] -- COMMAND [ARGUMENT]...", Short: "Run a command until it succeeds, with backoff",
		Args: j.arguments, DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			if j.plan > 0 {
				return j.printPlan(c)
			}
			p, err := j.policy(c)
			if err != nil {
				return cli.Usage(c, err)
			}
			return j.run(c, p, args)
		},
	})
	j.flags(c)
	return c
}

// arguments refuses a command line without the dashes. All words after the dashes belong
// to the command. A plan has none.
func (j *job) arguments(c *cobra.Command, args []string) error {
	switch {
	case j.plan > 0 && len(args) > 0:
		return cli.Usage(c, errors.New("--plan runs nothing: want no command with it"))
	case j.plan == 0 && (c.ArgsLenAtDash() != 0 || len(args) == 0):
		return cli.Usage(c, errors.New("want the command behind --, like: aimd retry -- curl -f http://localhost/"))
	}
	return nil
}

func (j *job) flags(c *cobra.Command) {
	f := cli.Flags(c)
	f.SetInterspersed(false) // so that the lack of -- is seen before the command's flags
	f.Var(value.OrNone(value.Whole(&j.attempts, 1, 1_000_000)), "max-attempts", "most tries, the first one included")
	f.Var(value.Duration(&j.total, time.Millisecond, backoff.MaxDelay), "for", "time for all tries and delays together")
	f.Var(value.Duration(&j.each, time.Millisecond, backoff.MaxDelay), "timeout", "longest time for a try")
	j.rules.flags(f)
	f.Var(value.Given(&j.sense, "command", "a command for sh"), "sense", "a `command` for sh that must succeed before each try")
	j.form.flags(c)
	f.BoolVar(&j.quiet, "quiet", false, "no lines about tries and delays")
	f.Var(value.Duration(&j.plan, time.Second, 24*365*time.Hour), "plan", "run nothing; print which delays and how many tries outlast an outage of this length")
	cli.NoDefault(f, "for", "timeout", "plan")
}

// policy returns the policy that decides which tries are repeated, and when.
func (j *job) policy(c *cobra.Command) (*retry.Policy, error) {
	delays, err := j.form.delays(c.Flags())
	if err = cmp.Or(err, j.rules.check()); err != nil {
		return nil, err
	}
	cfg := retry.Config{Backoff: delays, MaxAttempts: j.attempts, Idempotent: true, AttemptTimeout: j.each}
	bounded := j.total > 0 || delays.LastTry
	if j.attempts == 0 || bounded && !c.Flags().Changed("max-attempts") {
		cfg.MaxAttempts = -1
	}
	return retry.New(cfg)
}

// ignored are the signals that this program was started to ignore, as a script's background jobs are: those
// are found before the command line listens for signals.
var ignored = slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, func(s os.Signal) bool { return !signal.Ignored(s) })

func (j *job) run(c *cobra.Command, p *retry.Policy, command []string) error {
	if len(ignored) > 0 { // none would be all signals
		signal.Ignore(ignored...)
	}
	stderr := c.ErrOrStderr()
	if j.quiet {
		stderr = io.Discard
	}
	ctx, cancel := context.WithTimeout(c.Context(), cmp.Or(j.total, backoff.MaxDelay))
	defer cancel()
	in, err := newInput(os.Stdin)
	if err != nil {
		return err
	}
	t := try{command: command, rules: j.rules, in: in, out: terminal.Raw(c.OutOrStdout()), err: terminal.Raw(c.ErrOrStderr())}
	do := t.run
	if j.sense != "" {
		look := try{command: []string{"sh", "-c", j.sense}, in: new(input), err: t.err}
		do = retry.Sense(look.run, t.run)
	}
	r := *p.Runner()
	r.Policy = announcer{p, stderr}
	return finish(stderr, r.Do(ctx, do))
}

// finish prints why the job ended, and returns the status of aimd.
func finish(stderr io.Writer, err error) error {
	if err == nil {
		return nil
	}
	var last *failure
	ran := errors.As(err, &last)
	switch interrupted := errors.Is(err, context.Canceled); {
	case interrupted && ran && last.stopped:
		fmt.Fprintf(stderr, "aimd: interrupted: %v\n", last)
	case interrupted, !ran:
		return err
	default:
		fmt.Fprintf(stderr, "aimd: %v\n", err)
	}
	return cli.Exit(last.status)
}

// announcer is a policy that prints its decisions.
type announcer struct {
	policy *retry.Policy
	stderr io.Writer
}

// Decide implements attempt.Policy.
func (a announcer) Decide(ctx context.Context, f attempt.Failure) attempt.Decision {
	d := a.policy.Decide(ctx, f)
	at, bounded := ctx.Deadline()
	if d.Retry && (!bounded || time.Until(at) >= d.Delay) { // else there is no other try
		fmt.Fprintf(a.stderr, "aimd: try %d: %v; again in %v\n", f.Attempt, f.Err, value.Rounded(d.Delay))
	}
	return d
}
