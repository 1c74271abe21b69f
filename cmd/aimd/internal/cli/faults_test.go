package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two writers of one file leave the text of one of them, and never a part of each. Nothing is left beside it.
func TestTwoWritersLeaveAWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	texts := [][]byte{bytes.Repeat([]byte("a"), 100), bytes.Repeat([]byte("b"), 100_000)}
	for range 200 {
		var all sync.WaitGroup
		for _, text := range texts {
			all.Go(func() { assert.NoError(t, WriteFile(path, append([]byte("\ufeff"), text...), 0o600)) })
		}
		all.Wait()
		got, err := ReadFile(path) // without the mark of some editors, which was a wrong character to all that read the file
		require.NoError(t, err)
		require.Contains(t, []string{string(texts[0]), string(texts[1])}, string(got))
	}
	beside, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, beside, 1)
}

// A path that leads through a link replaces the file behind it, also one that is not there yet. A folder is no file.
func TestALinkStaysALink(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "volume"), 0o700))
	behind, link, second := filepath.Join(dir, "volume", "state"), filepath.Join(dir, "link"), filepath.Join(dir, "second")
	if err := os.Symlink(filepath.Join("volume", "state"), link); err != nil {
		t.Fatal("links are needed: ", err)
	}
	require.NoError(t, os.Symlink("link", second))
	for _, text := range []string{"new", "old"} {
		require.NoError(t, WriteFile(second, []byte(text), 0o600))
		got, err := os.ReadFile(behind)
		require.NoError(t, err)
		assert.Equal(t, text, string(got))
		for _, l := range []string{link, second} {
			info, err := os.Lstat(l)
			require.NoError(t, err)
			assert.NotZero(t, info.Mode()&os.ModeSymlink, "%s is %v", l, info.Mode())
		}
	}
	circle := filepath.Join(dir, "circle")
	require.NoError(t, os.Symlink("circle", circle))
	assert.ErrorContains(t, WriteFile(circle, nil, 0o600), "circle")
	assert.ErrorContains(t, WriteFile(dir, nil, 0o600), "want a regular file")
	_, err := ReadFile(dir)
	assert.ErrorContains(t, err, "want a regular file")
}

// A list or a help that a full disk did not take had status 0, and the error of a table stood there twice.
func TestWhatIsNotWrittenIsNotDone(t *testing.T) {
	full, there := io.Pipe()
	require.NoError(t, full.CloseWithError(errors.New("no space")))
	for _, args := range [][]string{{"-h"}, {"on"}} {
		c := &cobra.Command{Use: "on", RunE: func(c *cobra.Command, _ []string) error { fmt.Fprintln(c.OutOrStdout(), "done"); return nil }}
		var stderr bytes.Buffer
		assert.Equal(t, Failed, Tool{Commands: []*cobra.Command{c}, Stdout: there, Stderr: &stderr}.Run(t.Context(), args...))
		assert.Contains(t, stderr.String(), "aimd: no space\n")
	}
}

// The second signal ends the program, and a terminal that closes sends no such. timeout(1) sends SIGTERM twice at once: two of
// eight uploads ended at once, without a word.
func TestASignalThatComesTwiceAtOnceIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		signals, exited := make(chan os.Signal), make(chan int, 2)
		go obey(ctx, cancel, signals, func(status int) { exited <- status })
		defer close(signals)
		for _, s := range []struct {
			os.Signal
			after time.Duration
			exits int
		}{{syscall.SIGTERM, time.Hour, 0}, {syscall.SIGTERM, 0, 0}, {os.Interrupt, 190 * time.Millisecond, 0}, {syscall.SIGHUP, 20 * time.Millisecond, 0}, {os.Interrupt, 0, 1}} {
			time.Sleep(s.after)
			signals <- s.Signal
			synctest.Wait()
			assert.Equal(t, syscall.SIGTERM, SignalOf(ctx))
			assert.Len(t, exited, s.exits)
		}
		assert.Equal(t, Interrupted, <-exited)
	})
}
