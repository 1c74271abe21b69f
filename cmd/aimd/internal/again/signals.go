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
	// running is guarded by mu; nil: nothing runs.
	running *os.Process
	// apart: the command has a process group of its own, so that what it started is
	// reached with it. Not at a terminal's foreground, which belongs to one group.
	apart bool
}

// ignoredAtStart are those of the signals that are passed on that the program was started
// to ignore, as a script's background jobs are. The command line listens for some anyway.
var ignoredAtStart = slices.DeleteFunc(slices.Clone(passed), func(s os.Signal) bool { return !signal.Ignored(s) })

// passSignals begins to pass signals on. Those that ask to end cancel as well. One
// that was ignored at the start is so again, for the command too.
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

// ending are the signals that ask to end.
var ending = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// pass gives the signal to the command, unless the terminal has done so already: a
// second one would be an order to end at once.
func (s *signals) pass(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil || !s.apart && (sig == os.Interrupt || sig == syscall.SIGQUIT) && inForeground() {
		return
	}
	// It may have ended.
	if slices.Contains(ending, sig) {
		_ = s.send(s.running, sig)
	} else {
		_ = s.running.Signal(sig) // it would kill what does not expect it
	}
}

// send gives the command the signal, and what it started too if it is apart.
func (s *signals) send(p *os.Process, sig os.Signal) error {
	if s.apart {
		return signalGroup(p, sig)
	}
	return p.Signal(sig)
}

// start starts the command. What comes from then on is passed on to it.
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

// ended tells that the command has.
func (s *signals) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = nil
}

// stop gives the signals back.
func (s *signals) stop() {
	signal.Stop(s.from)
	close(s.from)
	s.done.Wait()
}
