//go:build unix

package upload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/aimd-go/aimd"
)

// Where few files may be open, 569 of 600 files failed with "too many open files".
func TestFewFilesMayBeOpen(t *testing.T) {
	w := newWorld(t)
	w.files(1) // the store is in this process, too
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	t.Cleanup(func() { assert.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) })
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 91, Max: was.Max}))
	o := w.run(func(c *Config) {
		c.Watch = func(l *aimd.Limiter) { assert.EqualValues(t, 25, l.Snapshot().Config.MaxWindow) }
	})
	require.NoError(t, o.err)
}
