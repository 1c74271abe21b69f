package attempt_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/verdict"
)

// meaning is an error that says what it means.
type meaning answer.Meaning

func (meaning) Error() string { return "said" }
func (m meaning) Facts() verdict.Facts {
	return verdict.Facts{Verdict: verdict.Verdict{Meaning: answer.Meaning(m)}}
}

// Bytes that were hurt on their way are sent again, three times: a digest that is wrong fails each time.
func TestHurtBytesAreSentAgainThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		err := (&attempt.Runner{Slots: newDesk(1)}).Do(t.Context(), func(context.Context) error {
			tries++
			return meaning(answer.Hurt)
		})
		require.ErrorIs(t, err, meaning(answer.Hurt))
		require.Equal(t, 4, tries)

		a, err := (&attempt.Runner{Slots: newDesk(1)}).Begin(t.Context())
		require.NoError(t, err)
		for tries = 1; a.End(meaning(answer.Hurt)).Retry(); tries++ { // an SDK that decides itself
			a, err = a.Next(t.Context())
			require.NoError(t, err)
		}
		require.Equal(t, 4, tries)
	})
}

// A batch of which the service took a part begins a new run of failures: it backs off as after its first.
func TestAPartThatWasTakenBeginsANewRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, part := range []answer.Meaning{answer.Partly, answer.Mostly} {
			ends := []answer.Meaning{answer.Passing, answer.Passing, part, answer.Passing}
			began := time.Now()
			require.NoError(t, (&attempt.Runner{Slots: newDesk(1)}).Do(t.Context(), func(context.Context) error {
				if len(ends) == 0 {
					return nil
				}
				end := ends[0]
				ends = ends[1:]
				return meaning(end)
			}))
			require.Equal(t, (1+2+1)*time.Second, time.Since(began))
		}
	})
}
