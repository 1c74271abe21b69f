package aimd_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/event"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// What a program says of an error counts before what the error says, and the wait within counts.
func TestWhatAProgramSaysOfAnError(t *testing.T) {
	for want, say := range map[answer.Meaning]func(error) error{
		answer.Refused: aimd.Refused, answer.Passing: aimd.Passing, answer.Partly: aimd.Partly, answer.Mostly: aimd.Mostly, answer.Final: aimd.Final,
	} {
		cause := status{HTTP: 404, After: 3 * time.Second}
		err := say(cause)
		v := verdict.Classify(err)
		assert.Equal(t, want, v.Meaning)
		assert.Equal(t, want != answer.Final, v.Wait == 3*time.Second)
		assert.Equal(t, want != answer.Final, v.Retry())
		assert.Equal(t, want == answer.Refused || want == answer.Partly, v.Outcome() == window.Overload)
		require.ErrorIs(t, err, cause)
		require.EqualError(t, err, cause.Error())
		require.NoError(t, say(nil))
	}
}

// An error that no classifier knows is an event beside refusals, once a minute at most. 952 of 1000 were lost without a word.
func TestAnErrorThatNobodyKnowsIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observe, told := kinds(event.Unknown)
		lim := newLimiter(t, 20, observe, func(c *aimd.Config) { c.MaxAttempts = 1 })
		end := func(err error) { _ = lim.Do(t.Context(), func(context.Context) error { return err }) }
		strange := errors.New("no idea")
		end(strange)
		assert.Empty(t, told(), "nothing is refused")
		end(status{HTTP: 429})
		end(status{HTTP: 404})
		assert.Empty(t, told(), "it is known")
		end(strange)
		end(strange)
		once := told()
		require.Len(t, once, 1)
		assert.Equal(t, strange, once[0].Err)
		time.Sleep(time.Minute + 1)
		end(strange)
		assert.Empty(t, told(), "the refusal is a minute ago")
		end(status{HTTP: 429})
		end(strange)
		assert.Len(t, told(), 1)
	})
}

// sendSome sends a batch to a service that takes four items at a time, and returns what it refused.
func sendSome(_ context.Context, items []string) ([]string, error) {
	return items[min(len(items), 4):], nil
}

// A batch of which a part is refused: what was done is kept, and the rest is sent in the same operation.
func ExamplePartly() {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer lim.Close()
	ctx, items, sent := context.Background(), strings.Fields("a b c d e f"), 0
	send := func(ctx context.Context, items []string) ([]string, error) {
		sent++
		return sendSome(ctx, items)
	}
	left := items
	err = lim.Do(ctx, func(ctx context.Context) error {
		all := len(left)
		var err error
		if left, err = send(ctx, left); err != nil || len(left) == 0 {
			return err
		}
		err = fmt.Errorf("%d of %d items were refused", len(left), all)
		if 10*len(left) < all { // a key or a partition
			return aimd.Mostly(err)
		}
		return aimd.Partly(err)
	})
	fmt.Println(sent, len(left), err)
	// Output: 2 0 <nil>
}

// BenchmarkAcquire is the cost of a slot: acquire and success.
func BenchmarkAcquire(b *testing.B) {
	for name, c := range map[string]aimd.Config{"alone": {}, "observed": {Observer: func(aimd.Event) {}}} {
		b.Run(name, func(b *testing.B) {
			c.Law = aimd.Reno(0.5)
			l := attempttest.Limiter(b, c)
			b.ReportAllocs()
			for ctx := context.Background(); b.Loop(); {
				p, _ := l.Acquire(ctx)
				p.Done(window.Success)
			}
		})
	}
}

// Acquire and success must not allocate: they are on every request's path.
func TestAcquireAndSuccessDoNotAllocate(t *testing.T) {
	l, ctx := attempttest.Limiter(t, aimd.Config{Law: aimd.Reno(0.5)}), t.Context()
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		p, _ := l.Acquire(ctx)
		p.Done(window.Success)
	}))
}

// An item of Each costs its Attempt, the closure of its goroutine, and that of its function.
func TestAnItemOfEachAllocatesThreeTimes(t *testing.T) {
	const items = 10_000
	l := attempttest.Limiter(t, aimd.Config{Law: aimd.Reno(0.5)})
	n := testing.AllocsPerRun(1, func() { assert.NoError(t, aimd.Each(t.Context(), l, count(items), succeed)) })
	require.LessOrEqual(t, n, 3.5*items)
}
