package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tables are those of docs/laws.md: means, how often each is below the best, and where ours is.
func TestSweepTables(t *testing.T) {
	const lines = `{"scenario":"refuses at 2","strategy":"probe","goodput":0.9,"p99_s":0.5,"attempts":1.02}
{"scenario":"refuses at 2","strategy":"arc","goodput":0.93,"p99_s":0.6,"attempts":1.5}
{"scenario":"mean at 2","strategy":"probe","goodput":0.9,"p99_s":0.5,"attempts":1.02}
{"scenario":"mean at 2","strategy":"arc","goodput":0.93,"p99_s":0.6,"attempts":1.5}
{"scenario":"below the best","strategy":"probe","below":1,"of":1}
{"scenario":"below the best","strategy":"arc","below":0,"of":1}
`
	var out bytes.Buffer
	require.NoError(t, sweepTables(&out, []byte(lines), []string{"probe", "arc"}))
	assert.Equal(t, `| load: goodput, p99, attempts | probe | arc |
|---|---|---|
| 2 | 0.90, 0.50 s, 1.02 | 0.93, 0.60 s, 1.50 |
| below the best | 1 of 1 | 0 of 1 |

| below the best | probe | the best there |
|---|---|---|
| refuses at 2 | 0.90 | 0.93 arc |
`, out.String())
}

// A law of each name is there, and one of the tool's.
func TestSweepCommand(t *testing.T) {
	var out, said bytes.Buffer
	require.Zero(t, sweepCommand([]string{"-h"}, &out, &said))
	assert.Contains(t, said.String(), "Envoy")
	assert.Equal(t, 2, sweepCommand([]string{"--nonsense"}, &out, &said))
	said.Reset()
	assert.Equal(t, 1, sweepCommand([]string{"--strategies", "nonsense"}, &out, &said))
	assert.Contains(t, said.String(), "nonsense")
	for _, name := range sweeps[7:] {
		assert.Contains(t, laws(), name)
	}
}
