package recipes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
)

func execLimiter() (*aimd.Limiter, error) {
	codes := func(err error) attempt.Verdict {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 75 { // EX_TEMPFAIL of sysexits.h
			return attempt.Verdict{Outcome: aimd.Overload, Retry: true}
		}
		return attempt.Verdict{} // any other is final
	}
	return aimd.New(aimd.WithClassifier(attempt.FirstOf(codes, attempt.Classify)))
}

func run(ctx context.Context, lim *aimd.Limiter, name string, args ...string) ([]byte, error) {
	return aimd.Value(ctx, lim, func(ctx context.Context) ([]byte, error) {
		return exec.CommandContext(ctx, name, args...).Output() // a Cmd runs once
	})
}

// command is what this test's binary does as a command: it fails twice, as its first
// argument, a file, tells, or for good.
func command() int {
	if os.Args[1] == "wrong" {
		return 2
	}
	before, _ := os.ReadFile(os.Args[1]) // none: the first time
	if len(before) < 2 {
		if err := os.WriteFile(os.Args[1], append(before, '.'), 0o600); err != nil {
			return 1
		}
		return 75
	}
	fmt.Print("done")
	return 0
}

func TestExec(t *testing.T) {
	t.Setenv("RECIPES_COMMAND", "1")
	lim, err := execLimiter()
	require.NoError(t, err)
	out, err := run(t.Context(), lim, os.Args[0], filepath.Join(t.TempDir(), "times"))
	require.NoError(t, err)
	require.Equal(t, "done", string(out))
	require.EqualValues(t, 2, lim.Snapshot().Overloads)

	_, err = run(t.Context(), lim, os.Args[0], "wrong")
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 2, exit.ExitCode())
	require.ErrorContains(t, err, "failed after 1 attempt")
}
