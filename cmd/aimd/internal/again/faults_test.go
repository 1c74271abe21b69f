//go:build unix

package again

import (
	"bufio"
	"io"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
)

// A second signal ends aimd at once, and left a command that ignores SIGTERM to itself. Now it ends that command, too, and its
// children.
func TestTheSecondSignalEndsTheCommand(t *testing.T) {
	// The shell would say that its sleep was terminated.
	cmd := process(t, t.TempDir(), "--", "sh", "-c", `exec 3>&2 2>/dev/null; trap 'sleep .3; echo got it >&3' TERM; echo here >&3; while :; do sleep .1; done`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // away from the terminal, if there is one
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	r := bufio.NewReader(stderr)
	for _, want := range []string{"here\n", "got it\n"} {
		line, err := r.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, line)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	}
	_, err = io.ReadAll(r) // until the last process has closed it
	require.NoError(t, err)
	_ = cmd.Wait()
	assert.Equal(t, cli.Interrupted, cmd.ProcessState.ExitCode())
}
