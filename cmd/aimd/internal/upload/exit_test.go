package upload_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload"
)

func TestExitStatus(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "k")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
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
		var stdout, stderr bytes.Buffer
		assert.Equal(t, c.want, cli.Tool{Commands: []*cobra.Command{upload.Command()}, Stdout: &stdout, Stderr: &stderr}.Run(c.ctx, c.args...), "%v: %s", c.args, stderr.String())
	}
}
