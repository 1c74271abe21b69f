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

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/verdict"
)

// tooLong is the status of a command that took too long and yet ended with 0, as in
// timeout(1). cannotRun and notFound are the statuses of a shell.
const (
	tooLong   = 124
	cannotRun = 126
	notFound  = 127
	// bySignal is added to the number of the signal that killed a command.
	bySignal = 128
)

// grace is the time from SIGTERM to SIGKILL for a command that takes too long. It also
// bounds how long the children of a command may keep standard error open.
const grace = 5 * time.Second

type failure struct {
	why     string
	status  int
	verdict verdict.Verdict
	// stopped reports that a signal asked aimd to end during the try.
	stopped bool
}

func (f *failure) Error() string { return f.why }

// Facts has the verdict of the rules. If it is the zero value, package attempt decides.
func (f *failure) Facts() verdict.Facts { return verdict.Facts{Verdict: f.verdict} }

type try struct {
	command  []string
	rules    rules
	in       *input
	out, err io.Writer
}

// run runs the command once, and returns nil or a *failure. The end of the context's time ends
// the command. A signal that ends the context is passed on, and run waits for the command.
func (t *try) run(ctx context.Context) error {
	running, late := context.WithCancel(context.WithoutCancel(ctx))
	defer late()
	cmd := exec.CommandContext(running, t.command[0], t.command[1:]...)
	send := group(cmd)
	cmd.Cancel = func() error { return send(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	h := new(heard)
	cmd.Stdout, cmd.Stderr = t.out, t.err
	if t.rules.listen() {
		cmd.Stderr = io.MultiWriter(t.err, h)
	}
	if err := t.in.connect(cmd); err != nil {
		return &failure{why: fmt.Sprintf("standard input: %v", err), status: cannotRun, verdict: final}
	}
	if err := cmd.Start(); err != nil {
		return notStarted(err)
	}
	defer cli.BySecond(func() { _ = send(syscall.SIGKILL) })() // it ignores the first
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			late()
		} else {
			_ = send(cli.SignalOf(ctx)) // the command may have ended
		}
	})
	_ = cmd.Wait() // ProcessState has the result
	stop()
	status, killed := cmd.ProcessState.ExitCode(), syscall.Signal(0)
	if w, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		killed = w.Signal()
		status = bySignal + int(killed)
	}
	if running.Err() != nil && killed == syscall.SIGKILL {
		_ = send(syscall.SIGKILL) // the grace of its children is over too
	}
	f := t.ended(status, killed, running.Err() != nil, h)
	if f == nil {
		return nil
	}
	if f.stopped = ctx.Err() != nil; t.in.lost != nil { // another try could not have the same input
		f.verdict, f.why = final, fmt.Sprintf("%s; %v", f.why, t.in.lost)
	}
	return f
}

// notStarted is the failure of a command that cannot be run. It may be tried again if the system is at its limits.
func notStarted(err error) error {
	f := &failure{why: err.Error(), status: cannotRun, verdict: final}
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		f.status = notFound
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		f.verdict = another
	}
	return f
}

// ended returns the failure of a command that was started, or nil.
func (t *try) ended(status int, killed syscall.Signal, late bool, h *heard) *failure {
	f := &failure{status: status}
	switch {
	case late && status == 0:
		f.status = tooLong
		fallthrough
	case late:
		f.why = "took too long"
	case status == 0:
		return nil
	case killed == syscall.SIGINT || killed == syscall.SIGTERM || killed == syscall.SIGQUIT || killed == syscall.SIGHUP:
		f.why, f.verdict = "killed: "+killed.String(), final
	default:
		f.verdict, f.why = t.rules.judge(status, h)
	}
	return f
}

// input gives each try the same standard input. It is for one try at a time. The zero value gives none.
type input struct {
	// file is nil if the command gets no input.
	file *os.File
	// start is the offset in a regular file where each try begins to read, or -1.
	start int64
	// lost is the reason why no other try can have the same input, or nil.
	lost error
}

// errPipe is the end of a job whose input may be used up.
var errPipe = errors.New("no other try: the command may have read its standard input, a pipe; want a file, with < (put the pipe into a file first), or < /dev/null")

// newInput decides how to give file to each try. A pipe that is at its end, as cron's, is no input.
func newInput(file *os.File) (*input, error) {
	info, err := file.Stat()
	switch {
	case err != nil || atEnd(file): // or it is closed
		return &input{}, nil
	case info.Mode().IsRegular():
		start, err := file.Seek(0, io.SeekCurrent)
		return &input{file: file, start: start}, err
	case info.Mode()&os.ModeCharDevice != 0: // a terminal
		return &input{file: file, start: -1}, nil
	}
	return &input{file: file, start: -1, lost: errPipe}, nil
}

// connect gives cmd its standard input.
func (i *input) connect(cmd *exec.Cmd) (err error) {
	if i.file == nil {
		return nil
	}
	if cmd.Stdin = i.file; i.start >= 0 {
		_, err = i.file.Seek(i.start, io.SeekStart)
	}
	return err
}
