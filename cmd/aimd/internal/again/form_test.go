package again

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/backoff"
)

// The fourth delay of each form, without jitter, or with the jitter that the text has.
func TestForms(t *testing.T) {
	fourth := map[string]time.Duration{
		"exponential": 800 * time.Millisecond, "compound": 800 * time.Millisecond, "constant": 100 * time.Millisecond, "last-try": 8 * time.Second,
		"crash-blue": 6 * time.Second, "crash-green": 8 * time.Second, "ethernet": 1600 * time.Millisecond, "clojure": 8 * time.Second,
		"safe-clients": 120 * time.Second, "syncmusings": 640 * time.Millisecond,
	}
	assert.Len(t, forms, len(fourth))
	for name, longest := range fourth {
		assert.Contains(t, Command().Long, "\n  "+name+" ")
		form, c := form{}, &cobra.Command{}
		form.flags(c)
		args := []string{"--form", name}
		if forms[name].Jitter == backoff.Proportional(0.5) && name != "safe-clients" {
			args = append(args, "--jitter", "none")
		}
		require.NoError(t, c.Flags().Parse(args))
		delays, err := form.delays(c.Flags())
		require.NoError(t, err, name)
		most := time.Duration(0)
		for seed := range uint64(50) {
			random, s := rand.New(rand.NewPCG(seed, 0)), backoff.State{Retry: 1}
			for ; s.Retry <= 4; s.Retry++ {
				s.Last, _ = delays.Delay(s, random)
			}
			most = max(most, s.Last)
		}
		assert.LessOrEqual(t, most, longest, name)
		assert.Greater(t, most, longest/2, name)
	}
}
