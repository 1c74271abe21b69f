package again

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
)

// signals passes the signals that end a program on to the command that runs.
type signals struct {
	from chan os.Signal
	done sync.WaitGroup
	// stopped ends the job, before the command has the signal: the end of that try is its last.
	stopped context.CancelFunc

	mu sync.Mutex
	// running is guarded by mu. It is nil between two commands.
	running *os.Process
	// apart reports that the command has a process group of its own, so that signals reach its
	// children too. In a terminal's foreground there is only one group, which gets Ctrl-C from the terminal.
	apart bool
}

// ending are the signals that end a program, but for those that this one was started to ignore, as
// a script's background jobs are: those are found before the command line listens for signals.
var ending, ignored = func() (ending, ignored []os.Signal) {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(s) {
			ignored = append(ignored, s)
		} else {
			ending = append(ending, s)
		}
	}
	return ending, ignored
}()

// passSignals begins to pass signals on. stopped is called before.
func passSignals(stopped context.CancelFunc) *signals {
	s := &signals{from: make(chan os.Signal, 16), stopped: stopped, apart: !inForeground()}
	if len(ending) > 0 { // none would be all signals
		signal.Notify(s.from, ending...)
	}
	if len(ignored) > 0 {
		signal.Ignore(ignored...)
	}
	s.done.Go(func() {
		for sig := range s.from {
			s.pass(sig)
		}
	})
	return s
}

// pass gives the signal to the command, unless the terminal has done so already: the command
// would take a second signal as an order to end at once.
func (s *signals) pass(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped()
	if s.running != nil && (s.apart || sig != os.Interrupt) {
		_ = s.send(s.running, sig) // the command may have ended
	}
}

func (s *signals) send(p *os.Process, sig os.Signal) error {
	if s.apart {
		return signalGroup(p, sig)
	}
	return p.Signal(sig)
}

func (s *signals) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.apart {
		setApart(cmd)
	}
	err := cmd.Start()
	if err == nil {
		s.running = cmd.Process
	}
	return err
}

func (s *signals) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = nil
}

func (s *signals) stop() {
	signal.Stop(s.from)
	close(s.from)
	s.done.Wait()
}
