package upload_test

import (
	"context"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload"
)

func TestExitStatus(t *testing.T) {
	clitest.AWS(t)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		args []string
		want int
	}{
		{t.Context(), []string{"upload", "-h"}, 0},
		{t.Context(), []string{"upload"}, 2},
		{t.Context(), []string{"upload", t.TempDir(), "s3://bucket", "-factor", "2"}, 2},
		{t.Context(), []string{"upload", t.TempDir(), "s3://bucket", "--endpoint", "http://127.0.0.1:1"}, 1},
		{interrupted, []string{"upload", t.TempDir(), "s3://bucket", "--endpoint", "http://127.0.0.1:1"}, 130},
	} {
		got := clitest.Here(c.ctx, []*cobra.Command{upload.Command()}, c.args...)
		assert.Equal(t, c.want, got.Status, "%v: %s", c.args, got.Stderr)
	}
}
