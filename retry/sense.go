package retry

import (
	"context"
	"errors"
	"fmt"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

// ErrSense: carrier sense found no room. It wraps the error of the look too.
var ErrSense = errors.New("aimd: carrier sense found no room")

// Sense is carrier sense, Ethernet's look before sending. It returns a function for Do, here or of a limiter, that
// looks and then sends. A look that returns an error is an attempt that failed with ErrSense: the operation backs
// off by its policy, and looks again after the delay. If the context ended and the look returns its error, so does the function.
//
// Of the three methods of "Exponential Backoff in Distributed Systems" (Thain, 2009), the method that looks first
// has a high throughput even if retries alone do not. Look at something near that fills up before the service
// breaks: free descriptors, space on a disk, the length of a queue. An attempt timeout includes the look.
func Sense(look, send func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err, over := look(ctx), ctx.Err()
		switch {
		case err == nil:
			return send(ctx)
		case over != nil && errors.Is(err, over):
			return err
		}
		// Another attempt may succeed, also of work that may not be done twice. A Retry-After of the look is obeyed.
		v := verdict.Verdict{Meaning: answer.Passing, Wait: verdict.Classify(err).Wait}
		return verdict.With(fmt.Errorf("%w: %w", ErrSense, err), verdict.Facts{Verdict: v, Reach: verdict.Unsent})
	}
}
