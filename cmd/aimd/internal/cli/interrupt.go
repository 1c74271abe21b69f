package cli

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interruptible returns a context that ends with the first SIGINT or SIGTERM. The second
// ends the program at once by exit: not by the signal's usual effect, which is none where
// it was ignored at the start, as shells do for what runs in the background. stop gives
// the signals back.
func interruptible(parent context.Context, exit func(int)) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var wg sync.WaitGroup
	wg.Go(func() {
		again := false
		for range signals {
			if cancel(); again {
				exit(Interrupted)
			}
			again = true
		}
	})
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(signals)
		wg.Wait()
		cancel()
	})
}
