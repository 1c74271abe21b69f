// Package program finds the programs that the tests start.
package program

import (
	"os/exec"
	"path/filepath"
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
