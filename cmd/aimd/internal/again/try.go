package again

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	"github.com/aimd-go/aimd/window"
)

// tooLong is the status of a command that took too long and yet ended with 0, as
// timeout(1) has it. cannotRun and notFound are the shell's.
const (
	tooLong   = 124
	cannotRun = 126
	notFound  = 127
	// bySignal is added to the number of the signal that killed a command.
	bySignal = 128
)

// grace is how long a command that took too long has until it is killed, and how long
// what it left behind may keep standard error open.
const grace = 5 * time.Second

// failure is how a try failed.
type failure struct {
	why     string
	status  int
	verdict attempt.Verdict
	// stopped: aimd was told to stop while it ran.
	stopped bool
}

func (f *failure) Error() string { return f.why }

// Verdict is what it means. The zero value, of a try that took too long, leaves that
// to the attempt.
func (f *failure) Verdict() attempt.Verdict { return f.verdict }

// try runs a command.
type try struct {
	command  []string
	rules    *rules
	in       *input
	out, err io.Writer
	signals  *signals
}

// run runs the command once, and returns nil if it succeeded, else a *failure. A
// context that is cancelled lets it run: the signal has been passed on. One whose
// time is over ends it.
func (t *try) run(ctx context.Context) error {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel()
		}
	})
	defer stop()
	h := &heard{rules: *t.rules, words: map[string]bool{}}
	cmd, err := t.prepare(running, h)
	if err != nil {
		return &failure{why: fmt.Sprintf("standard input: %v", err), status: cannotRun, verdict: attempt.Verdict{Outcome: window.Neutral}}
	}
	if err := t.signals.start(cmd); err != nil {
		if running.Err() != nil {
			return &failure{why: "took too long", status: tooLong, stopped: ctx.Err() != nil}
		}
		return notStarted(err)
	}
	_ = cmd.Wait() // the state tells
	if w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && running.Err() != nil && w.Signaled() && w.Signal() == syscall.SIGKILL {
		_ = t.signals.send(cmd.Process, syscall.SIGKILL) // what it started had its time too
	}
	t.signals.ended()
	h.end()
	return t.ended(ctx, cmd.ProcessState, h, running.Err() != nil)
}

// prepare is the command, ready to be started.
func (t *try) prepare(ctx context.Context, h *heard) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, t.command[0], t.command[1:]...)
	cmd.Cancel = func() error { return t.signals.send(cmd.Process, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	cmd.Stdout, cmd.Stderr = t.out, t.err
	if t.rules.listen() {
		cmd.Stderr = io.MultiWriter(t.err, h)
	}
	in, err := t.in.rewound()
	if in != nil { // else Stdin would be an io.Reader that is not nil
		cmd.Stdin = in
	}
	return cmd, err
}

// notStarted is a command that cannot be run. Time may mend that, of the system's
// limits, but nothing else.
func notStarted(err error) error {
	f := &failure{why: err.Error(), status: cannotRun, verdict: attempt.Verdict{Outcome: window.Neutral}}
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		f.status = notFound
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		f.verdict.Retry = true
	}
	return f
}

// ended is what became of a command that was started.
func (t *try) ended(ctx context.Context, state *os.ProcessState, h *heard, late bool) error {
	status, killed := state.ExitCode(), syscall.Signal(0)
	if w, ok := state.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		killed = w.Signal()
		status = bySignal + int(killed)
	}
	f := &failure{status: status, stopped: ctx.Err() != nil}
	switch {
	case late && status == 0:
		f.status = tooLong
		fallthrough
	case late:
		f.why = "took too long"
	case status == 0:
		return nil
	case killed == syscall.SIGINT || killed == syscall.SIGTERM || killed == syscall.SIGQUIT || killed == syscall.SIGHUP:
		f.why, f.verdict = "killed: "+killed.String(), attempt.Verdict{Outcome: window.Neutral}
	default:
		f.verdict, f.why = t.rules.judge(status, h)
	}
	return f
}

// input is the standard input of each try.
type input struct {
	// file is nil for none.
	file *os.File
	// start is where each try begins to read; -1: there is no going back, as with a
	// terminal.
	start int64
	// own: the file is a copy, to be closed.
	own bool
}

// patience is how long standard input may take before it is said what is waited for.
const patience = time.Second

// keep makes an input of standard input that can be read again and again. What is no
// file is copied into one, of no more than so many bytes; 0: there is no input.
func keep(ctx context.Context, in io.Reader, most int64, told io.Writer) (*input, error) {
	f, ok := in.(*os.File)
	if most == 0 {
		return &input{}, nil
	}
	if ok {
		info, err := f.Stat()
		switch {
		case err != nil:
			return &input{}, nil // it is closed
		case info.Mode().IsRegular():
			start, err := f.Seek(0, io.SeekCurrent)
			return &input{file: f, start: start}, err
		case info.Mode()&os.ModeCharDevice != 0:
			return &input{file: f, start: -1}, nil
		}
	}
	waits := time.AfterFunc(patience, func() {
		fmt.Fprintln(told, "aimd: reading standard input, to give it to each try; --stdin-max 0 gives it none")
	})
	defer waits.Stop()
	return spool(ctx, in, most)
}

// spool copies all of in.
func spool(ctx context.Context, in io.Reader, most int64) (*input, error) {
	f, err := os.CreateTemp("", "aimd-stdin-")
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	_ = os.Remove(f.Name()) // so nothing stays, however it ends; where that is refused, close does it
	i := &input{file: f, own: true}
	copied := make(chan error, 1)
	go func() {
		n, err := io.Copy(f, io.LimitReader(in, most+1))
		if err == nil && n > most {
			err = fmt.Errorf("more than %s is not allowed, want less, a file with <, a larger --stdin-max, or 0 for none; nothing was run", value.ShowSize(most))
		}
		copied <- err
	}()
	select {
	case err = <-copied:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		return i, nil
	}
	i.close()
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	return nil, fmt.Errorf("standard input: %w", err)
}

// rewound is the file for the next try, nil for none.
func (i *input) rewound() (*os.File, error) {
	if i == nil {
		return nil, nil
	}
	if i.file == nil || i.start < 0 {
		return i.file, nil
	}
	_, err := i.file.Seek(i.start, io.SeekStart)
	return i.file, err
}

func (i *input) close() {
	if i.own {
		i.file.Close()
		_ = os.Remove(i.file.Name())
	}
}
