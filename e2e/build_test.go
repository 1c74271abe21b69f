package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The programs that run as separate processes. They are built once, without the race detector,
// which would make them slower than the tests.
var (
	gatewayBinary = built{source: "cmd/slowgw"}
	aimdBinary    = built{source: "../cmd/aimd"}
)

type built struct {
	// source is the directory of the program's package; its last element becomes
	// the program's name.
	source string

	once sync.Once
	dir  string
	log  []byte
	err  error
}

func (b *built) path(t *testing.T) string {
	t.Helper()
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "aimd-e2e-"); b.err == nil {
			b.log, b.err = exec.Command("go", "build", "-C", b.source, "-o", b.file(), ".").CombinedOutput()
		}
	})
	require.NoError(t, b.err, "go build in %s: %s", b.source, b.log)
	return b.file()
}

func (b *built) file() string { return filepath.Join(b.dir, filepath.Base(b.source)) }

func (b *built) remove() {
	if b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
}
