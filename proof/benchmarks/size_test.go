package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program is at most so much larger with the limiter than without it, in MB, by go build as it comes: 2.4 and 1.8 on
// linux/amd64 with Go 1.26.
func TestAProgramStaysSmall(t *testing.T) {
	for _, c := range []struct {
		with, without string
		most          float64
	}{{"do", "hello", 2.5}, {"client", "http", 2}} {
		more := megabytes(t, c.with) - megabytes(t, c.without)
		t.Logf("%s over %s: %.2f MB", c.with, c.without, more)
		require.LessOrEqual(t, more, c.most, "%s over %s", c.with, c.without)
	}
}

// megabytes is the size of the program of testdata.
func megabytes(t *testing.T, program string) float64 {
	t.Helper()
	file := filepath.Join(t.TempDir(), program)
	out, err := exec.Command("go", "build", "-o", file, "testdata/"+program+".go").CombinedOutput()
	require.NoError(t, err, "%s", out)
	info, err := os.Stat(file)
	require.NoError(t, err)
	return float64(info.Size()) / 1e6
}
