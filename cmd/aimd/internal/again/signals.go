package again

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// signals passes signals on to the command that runs.
type signals struct {
	from chan os.Signal
	done sync.WaitGroup

	mu sync.Mutex
	// running is guarded by mu. It is nil between two commands.
	running *os.Process
	// apart reports that the command has a process group of its own, so that signals
	// reach its children too. In a terminal's foreground there is only one group.
	apart bool
}

// ignoredAtStart are the signals that the program was started to ignore, as a script's
// background jobs are. They are found before the command line listens for signals.
var ignoredAtStart = slices.DeleteFunc(slices.Clone(passed), func(s os.Signal) bool { return !signal.Ignored(s) })

// passSignals begins to pass signals on. A signal that asks to end cancels as well.
func passSignals(cancel func()) *signals {
	s := &signals{from: make(chan os.Signal, 16), apart: !inForeground()}
	for _, sig := range passed {
		if slices.Contains(ignoredAtStart, sig) {
			signal.Ignore(sig)
		} else {
			signal.Notify(s.from, sig)
		}
	}
	s.done.Go(func() {
		for sig := range s.from {
			if slices.Contains(ending, sig) {
				cancel()
			}
			s.pass(sig)
		}
	})
	return s
}

var ending = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// pass gives the signal to the command, unless the terminal has done so already. The
// command would take a second signal as an order to end at once.
func (s *signals) pass(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil || !s.apart && (sig == os.Interrupt || sig == syscall.SIGQUIT) && inForeground() {
		return
	}
	// The command may have ended: errors are ignored.
	if slices.Contains(ending, sig) {
		_ = s.send(s.running, sig)
	} else {
		_ = s.running.Signal(sig) // it would kill a child that does not expect it
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
