package e2e

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// engineWorker, in the environment, makes the test binary a worker of a job engine, with these settings.
const engineWorker = "E2E_WORKER"

// errandRunner makes it a process that shares a window.
const errandRunner = "E2E_ERRAND"

// programs is a folder in which some of our programs are, built a moment ago. It goes with the tests.
const programs = "E2E_PROGRAMS"

func TestMain(m *testing.M) {
	if settings := os.Getenv(engineWorker); settings != "" {
		runEngineWorker(settings)
		return
	}
	if settings := os.Getenv(errandRunner); settings != "" {
		if err := runErrand(settings); err != nil {
			log.Fatal(err)
		}
		return
	}
	if binaries = os.Getenv(programs); binaries == "" {
		var err error
		if binaries, err = os.MkdirTemp("", "aimd-e2e-"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	// Not after each test: several run at a time.
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	_ = os.RemoveAll(binaries)
	if testing.Verbose() {
		figures.print()
	}
	os.Exit(code)
}

// earnest reports whether the figures count: E2E_QUIET is set. Without it the jobs are
// short, several tests run at a time, and bounds on time allow for noise.
func earnest() bool { return os.Getenv("E2E_QUIET") != "" }

// amount is a size or a time in earnest, and the quick one otherwise.
func amount[T any](full, quick T) T {
	if earnest() {
		return full
	}
	return quick
}

// beside lets the test run beside others, unless the figures count.
func beside(t *testing.T) {
	if !earnest() {
		t.Parallel()
	}
}

// begin bounds a test's time. Call it when the test no longer waits for other tests.
func begin(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), amount(20*time.Minute, 5*time.Minute))
	t.Cleanup(cancel)
	return ctx
}

// eventually polls until the condition holds. It gives up so late that the machine cannot be the reason.
func eventually(t *testing.T, holds func() bool, what string, args ...any) {
	t.Helper()
	const within = 5 * time.Minute
	// Not require.Eventually, which leaves a goroutine behind when it is late.
	for deadline := time.Now().Add(within); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			require.Failf(t, "not within "+within.String(), what, args...)
		}
	}
}

// together does 0 to n-1 on goroutines, and waits for the end.
func together(goroutines, n int, do func(i int)) {
	work := make(chan int)
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			for i := range work {
				do(i)
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	all.Wait()
}

// figures are what the tests measured.
var figures summary

type summary struct {
	mu    sync.Mutex
	lines []string
}

// log logs a figure, and keeps it for the summary.
func (s *summary) log(t *testing.T, format string, args ...any) {
	t.Helper()
	line := fmt.Sprintf(format, args...)
	t.Log(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, fmt.Sprintf("%-34s %s", t.Name(), line))
}

func (s *summary) print() {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Println("\nFigures:")
	for _, l := range s.lines {
		fmt.Println(" ", l)
	}
}
