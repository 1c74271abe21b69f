//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestTheFirstSignalEndsTheContext(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreTopFunction("os/signal.loop"))
	signal.Ignore(syscall.SIGINT)
	defer signal.Reset(syscall.SIGINT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // else it may be ignored, as where the tests were started
	defer signal.Reset(syscall.SIGHUP)
	for _, first := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		ctx, stop := interruptible(t.Context(), os.Exit)
		require.NoError(t, syscall.Kill(syscall.Getpid(), first))
		<-ctx.Done()
		assert.Equal(t, first, SignalOf(ctx))
		stop()
	}
}

func TestWithoutATerminalItContinues(t *testing.T) {
	signal.Ignore(syscall.SIGHUP) // as nohup does
	defer signal.Reset(syscall.SIGHUP)
	ctx, stop := interruptible(t.Context(), os.Exit)
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGHUP))
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGINT))
	<-ctx.Done()
	stop()
	assert.True(t, signal.Ignored(syscall.SIGHUP))
}
