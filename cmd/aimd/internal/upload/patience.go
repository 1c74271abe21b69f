package upload

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/bucket"
)

// patienceTime is how long a user who has stopped the run sees nothing.
const patienceTime = time.Second

// patience says once what the run waits for if it was stopped and does not end.
// Call done when it has ended.
func (u *run) patience(stopped context.Context) (done func()) {
	late, cancel := bucket.Outlast(stopped, patienceTime)
	ended := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-late.Done():
			u.report.say("stopped; waiting for " + u.waitingFor() + "; Ctrl-C again ends it at once")
		case <-ended:
		}
	})
	return func() {
		close(ended)
		wg.Wait()
		cancel()
	}
}

func (u *run) waitingFor() string {
	var parts []string
	for _, x := range u.bucket.Open() {
		parts = append(parts, fmt.Sprintf("%s (upload %s)", shown(x.Key), shown(x.ID)))
	}
	switch {
	case len(parts) > 0:
		return "the store to remove the parts of " + strings.Join(parts, ", ")
	case u.files.busy() > 0:
		return fmt.Sprintf("the store to answer for %d files", u.files.busy())
	}
	return fmt.Sprintf("the list of what was not begun, %d files so far", u.report.now().NotBegun)
}
