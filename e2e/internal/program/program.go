// Package program finds the programs that the tests start.
package program

import (
	"os/exec"
	"testing"
)

// Path returns the path of a program. If the program is missing, the test fails and
// names the Debian package that has it.
func Path(t testing.TB, name, pkg string) string {
	t.Helper()
	for _, n := range []string{name, "/usr/sbin/" + name} { // a user's PATH may lack /usr/sbin
		if path, err := exec.LookPath(n); err == nil {
			return path
		}
	}
	t.Fatalf("no %s in the PATH or in /usr/sbin: apt-get install %s", name, pkg)
	return ""
}
