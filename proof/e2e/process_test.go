package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The programs of ours that run as processes of their own.
var (
	slowgw    = built("cmd/slowgw")
	aimdTool  = built("../../cmd/aimd")
	aimdProxy = built("../../cmd/aimd", "./aimd-proxy")
	bareProxy = built("cmd/bareproxy")
	fleetTool = built("../../examples/fleet")

	downloadTool = built("../../examples/download")

	stormServerTool = built("../../examples/storm/server")
	stormClientTool = built("../../examples/storm/client")
)

// binaries is the folder of these programs, which lasts as long as the tests.
var binaries string

// built returns the path of a program of the package in a folder, or of one of another module that the folder's requires.
// It is built once, without the race detector, which would make it slower than the tests.
func built(folder string, pkg ...string) (path func(*testing.T) string) {
	build := sync.OnceValues(func() (string, error) {
		of := append(pkg, ".")[0]
		path := filepath.Join(binaries, filepath.Base(filepath.Join(folder, of)))
		if _, err := os.Stat(path); err == nil && os.Getenv(programs) != "" {
			return path, nil
		}
		cmd := exec.Command("go", "build", "-C", folder, "-o", path, of)
		if strings.HasPrefix(folder, "../peers") { // go.work does not have it
			cmd.Env = append(os.Environ(), "GOWORK=off")
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("go build in %s: %w: %s", folder, err, out)
		}
		return path, err
	})
	return func(t *testing.T) string {
		t.Helper()
		path, err := build()
		require.NoError(t, err)
		return path
	}
}

// process is a child process. It ends when its standard input ends, as it does if the test ends
// in any way.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	output lockedBuffer
	once   sync.Once
}

// startProcess starts a process, and keeps its output unless the command has a place for it. The process is
// the first of a group, so that a signal also reaches what a shell started.
func startProcess(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	p.stdin, err = cmd.StdinPipe()
	require.NoError(t, err)
	if cmd.Stderr = &p.output; cmd.Stdout == nil {
		cmd.Stdout = &p.output
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

// server is the command of a program that does not read its standard input. A shell reads it, and sends
// the signal to the program when the input ends.
func server(signal string, args ...string) *exec.Cmd {
	return exec.Command("sh", append([]string{"-c", `"$@" & read -r end; kill -` + signal + ` "$!"; wait "$!"`, "sh"}, args...)...)
}

// listening waits until the process listens at the address.
func (p *process) listening(t *testing.T, address string) *process {
	t.Helper()
	eventually(t, func() bool {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return false
		}
		c.Close()
		return true
	}, "nobody listens at %s; %s wrote: %v", address, p.cmd.Path, &p.output)
	return p
}

// stop lets the process end, and waits until it did.
func (p *process) stop() {
	p.once.Do(func() {
		p.stdin.Close()
		late := time.AfterFunc(time.Minute, func() { _ = p.send(syscall.SIGKILL) })
		_ = p.cmd.Wait()
		late.Stop()
	})
}

// kill ends the process as a crash would.
func (p *process) kill() {
	_ = p.send(syscall.SIGKILL) // it may have ended
	p.stop()
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.send(s))
}

func (p *process) send(s syscall.Signal) error { return syscall.Kill(-p.cmd.Process.Pid, s) }

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
