package e2e

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/e2e/internal/program"
)

// With standard input from /dev/null, as of a background job, slowgw serves until it is killed.
func TestSlowgwWithoutAPipe(t *testing.T) {
	t.Parallel()
	address := program.Address(t)
	cmd := exec.Command(gatewayBinary.path(t), "-listen", address, "-control", program.Address(t), "-dir", t.TempDir(),
		"-access", accessKey, "-secret", secretKey)
	p := &process{cmd: cmd, stdin: nothing{}}
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	require.NoError(t, cmd.Start())
	t.Cleanup(p.kill)
	listening(t, address, p)
}

type nothing struct{}

func (nothing) Write(b []byte) (int, error) { return len(b), nil }
func (nothing) Close() error                { return nil }
