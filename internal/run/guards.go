package run

import (
	"context"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

type guards []attempt.Guard

// admit asks the guards in order, up to the first that refuses, and then notifies the ones before it.
func (g guards) admit(ctx context.Context, number int) error {
	admitted := 0
	defer func() {
		if admitted < len(g) { // one refused, or panicked
			g[:admitted].ended(ctx, 0)
		}
	}()
	for _, guard := range g {
		if err := guard.Admit(ctx, number); err != nil {
			return err
		}
		admitted++
	}
	return nil
}

// ended notifies all guards of the end of an admitted attempt, also if one panics.
func (g guards) ended(ctx context.Context, o window.Outcome) {
	if len(g) == 0 {
		return
	}
	defer g[1:].ended(ctx, o)
	g[0].Ended(ctx, o)
}
