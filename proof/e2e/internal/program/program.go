// Package program finds the programs that the tests start, and addresses for them.
package program

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
)

// Path returns the path of a program. If the program is missing, the test fails and
// names the Debian package that has it.
func Path(t testing.TB, name, pkg string) string {
	t.Helper()
	// A user's PATH may lack /usr/sbin, and Debian has PostgreSQL by versions.
	places, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	for _, n := range append(places, name, "/usr/sbin/"+name) {
		if path, err := exec.LookPath(n); err == nil {
			return path
		}
	}
	t.Fatalf("no %s in the PATH, in /usr/sbin or in /usr/lib/postgresql: apt-get install %s", name, pkg)
	return ""
}

// port is the last one that Address returned, or tried.
var port atomic.Int32

// Address returns an address of 127.0.0.1 without a listener, a new one each time. Its port is outside the
// range that systems give to connections and to port 0, so that no connection takes it before a server
// listens, or while a server is gone for a while.
func Address(t testing.TB) string {
	t.Helper()
	const first, last = 10_000, 30_000
	// A process that another test starts meanwhile would keep the port until its exec.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for range last - first {
		// Test processes run side by side, with numbers close to each other.
		p := first + (os.Getpid()*7919+int(port.Add(1)))%(last-first)
		address := fmt.Sprintf("127.0.0.1:%d", p)
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
