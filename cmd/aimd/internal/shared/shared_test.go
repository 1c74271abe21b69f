package shared

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/share"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// windows are those of a command line with that --share.
func windows(t *testing.T, address string) *Windows {
	w := &Windows{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	w.Flag(f)
	require.NoError(t, f.Set("share", address))
	t.Cleanup(func() {
		if w.client != nil {
			_ = w.client.Close()
		}
	})
	return w
}

var quietly = slog.New(slog.DiscardHandler)

func works(t *testing.T, l *aimd.Limiter) {
	_, err := aimd.Do(t.Context(), l, func(context.Context) (int, error) { return 0, nil })
	require.NoError(t, err)
}

func TestWithoutTheFlagALimiterSharesNothing(t *testing.T) {
	l, leave, err := (&Windows{}).New("x", aimd.Config{}, quietly)
	require.NoError(t, err)
	works(t, l)
	leave()
}

// Without the store the limiter works, and the log says what is wrong.
func TestAStoreThatIsAwayIsALineInTheLog(t *testing.T) {
	w := windows(t, "redis://user:secret@127.0.0.1:1/0")
	require.NoError(t, w.Check("x"))
	said, say := io.Pipe()
	lines := bufio.NewScanner(said)
	log := slog.New(slog.NewTextHandler(say, nil))
	var all sync.WaitGroup
	all.Go(func() {
		defer said.Close()
		require.True(t, lines.Scan())
	})
	l, leave, err := w.New("x", aimd.Config{}, log)
	require.NoError(t, err)
	works(t, l)
	leave()
	all.Wait()
	assert.Regexp(t, "connection refused|deadline exceeded", lines.Text()) // on a busy machine the time is over first
	assert.NotContains(t, lines.Text(), "secret")
}

// A store that refuses is an error, which says what it wants, and no password.
func TestAStoreThatRefusesIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				for in := bufio.NewScanner(c); in.Scan(); {
					if strings.HasPrefix(in.Text(), "*") { // a command begins
						_, _ = io.WriteString(c, "-WRONGPASS invalid username-password pair or user is disabled.\r\n")
					}
				}
				_ = c.Close()
			})
		}
	})
	w := windows(t, "redis://user:secret@"+l.Addr().String())
	err = w.Check("x")
	require.ErrorIs(t, err, share.ErrRefused)
	assert.ErrorContains(t, err, "--share redis://user:xxxxx@127.0.0.1")
	assert.ErrorContains(t, err, "WRONGPASS")
	assert.ErrorContains(t, err, "want the user and the password")
	assert.NotContains(t, err.Error(), "secret")

	w.checked = true
	limiter, leave, err := w.New("x", aimd.Config{}, quietly)
	require.NoError(t, err, "later it is a line in the log")
	works(t, limiter)
	leave()

	_ = w.client.Close()
	w.client = nil
	_ = l.Close()
	all.Wait()
}
