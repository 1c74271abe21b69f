package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
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

// port is the last one that freeAddress gave, or tried.
var port atomic.Int32

// freeAddress returns an address of 127.0.0.1 without a listener, a new one each time. Its port
// is outside the range that systems give to connections and to port 0, so that no connection
// takes it before a server listens, or while a server is gone for a while.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, last = 10_000, 30_000
	// A process that another test starts meanwhile would keep the port until its exec.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for range last - first {
		p := first + (os.Getpid()*100+int(port.Add(1)))%(last-first)
		address := fmt.Sprintf("127.0.0.1:%d", p)
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	require.Fail(t, "no port is free")
	return ""
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
