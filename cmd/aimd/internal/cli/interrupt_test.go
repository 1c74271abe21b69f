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

func TestTheSecondSignalEndsTheProgram(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent(), goleak.IgnoreTopFunction("os/signal.loop"))
	signal.Ignore(syscall.SIGINT)
	defer signal.Reset(syscall.SIGINT)
	exited := make(chan int, 1)
	ctx, stop := interruptible(t.Context(), func(status int) { exited <- status })
	defer stop()
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGINT))
	<-ctx.Done()
	assert.Empty(t, exited)
	require.NoError(t, syscall.Kill(syscall.Getpid(), syscall.SIGINT))
	assert.Equal(t, Interrupted, <-exited)
}

func TestStopEndsTheContext(t *testing.T) {
	ctx, stop := interruptible(t.Context(), os.Exit)
	stop()
	stop()
	assert.Error(t, ctx.Err())
}
