package e2e

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a child process. It ends when its standard input ends, as it does if the test ends
// in any way.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	output lockedBuffer
	once   sync.Once
}

func startProcess(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	return startProcessTo(t, cmd, nil)
}

// startProcessTo starts one whose standard output goes elsewhere; nil: with its errors.
func startProcessTo(t *testing.T, cmd *exec.Cmd, stdout *os.File) *process {
	t.Helper()
	p := &process{cmd: cmd}
	var err error
	p.stdin, err = cmd.StdinPipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	if stdout != nil {
		cmd.Stdout = stdout
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", cmd.Path, p.output.String())
		}
	})
	return p
}

// stop lets the process end, and waits until it did.
func (p *process) stop() {
	p.once.Do(func() {
		p.stdin.Close()
		late := time.AfterFunc(time.Minute, func() { _ = p.cmd.Process.Kill() })
		_ = p.cmd.Wait()
		late.Stop()
	})
}

// kill ends the process as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	p.stop()
}

// lockedBuffer is a bytes.Buffer for two streams at a time.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// listening waits until a server listens at the address.
func listening(t *testing.T, address string, by *process) {
	t.Helper()
	eventually(t, func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return false
		}
		c.Close()
		return true
	}, "nobody listens at %s; %s wrote: %v", address, by.cmd.Path, &by.output)
}
