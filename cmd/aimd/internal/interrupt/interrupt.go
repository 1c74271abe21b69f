// Package interrupt lets a program end in order: the first signal ends a context,
// the second the program.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Status is the exit status of a program that was interrupted: 128 and the number
// of SIGINT, as shells have it.
const Status = 130

// Context returns a context that ends with the first SIGINT or SIGTERM. The second
// ends the program at once, with Status: not by the signal's usual effect, which is
// none where it was ignored at the start, as shells do for what runs in the
// background. stop gives the signals back.
func Context(parent context.Context) (ctx context.Context, stop func()) {
	return watch(parent, os.Exit)
}

func watch(parent context.Context, exit func(int)) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopped := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-signals:
				if cancel(); n > 1 {
					exit(Status)
				}
			case <-stopped:
				return
			}
		}
	})
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(stopped)
		wg.Wait()
		cancel()
	})
}
