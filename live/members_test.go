package live

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// Limiters come and go, and nobody asks for the sums.
func TestTheGoneAreForgottenThoughNobodyReads(t *testing.T) {
	sums := NewTally()
	for i := range 10 * mostNames {
		l, err := aimd.New(aimd.Config{Law: aimd.Reno(0.5)})
		require.NoError(t, err)
		sums.Evicted(l)
		if i%100 == 0 {
			runtime.GC()
		}
	}
	require.Less(t, len(sums.members), 3*mostNames)
}
