//go:build unix

package upload

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Where few files may be open, 569 of 600 files failed with "too many open files".
func TestFewFilesMayBeOpen(t *testing.T) {
	w := newWorld(t)
	var was unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	t.Cleanup(func() { assert.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) })
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 91, Max: was.Max}))
	assert.EqualValues(t, 25, w.connected(w.config()).limiter.Snapshot().Config.MaxWindow)
}

// In JSON two names that are not UTF-8 looked alike.
func TestNamesThatAreNotUTF8Differ(t *testing.T) {
	w := newWorld(t)
	w.write("a\xfe", "x")
	w.write("a\xff", "x")
	got := command(t, w.dir, "s3://bucket", "--endpoint", w.URL, "--json").Stdout
	for _, end := range []string{`fe`, `ff`} {
		assert.Contains(t, got, `"path":"\"`+w.dir+`/a\\x`+end+`\"","key":"\"a\\x`+end+`\""`)
	}
}
