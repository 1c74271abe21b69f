package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// examples/download gets every object, from a store that takes 16 requests at a time. An object that differs from its
// checksum fails, and has no file.
func TestDownload(t *testing.T) {
	beside(t)
	ctx := begin(t)
	g := startGateway(t, 16)
	steward(ctx, t, g.address)
	upload := put(limited(g.address, newTransport(t, 0), limiter(t, aimd.Config{})))
	objects, want := amount(2000, 300), map[string]string{}
	for i := range objects {
		want[fmt.Sprintf("p/%d/%05d", i%10, i)] = sum(body(i, objectSize))
	}
	together(goroutines, objects, func(i int) {
		assert.NoError(t, upload(ctx, fmt.Sprintf("p/%d/%05d", i%10, i), body(i, objectSize)))
	})
	folder := t.TempDir()
	download := func(prefix string) error {
		cmd := exec.CommandContext(ctx, downloadTool(t), bucket, prefix, folder)
		cmd.Env = append(credentialsOnly(), "AWS_ENDPOINT_URL=http://"+g.address, "AWS_REGION=us-east-1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	}
	require.NoError(t, download("p/"))
	got := map[string]string{}
	for key := range want {
		b, err := os.ReadFile(filepath.Join(folder, key))
		require.NoError(t, err)
		got[key] = sum(b)
	}
	require.Equal(t, want, got)

	bad := filepath.Join(g.dir, bucket, "p/0/00000")
	b, err := os.ReadFile(bad)
	require.NoError(t, err)
	b[0]++
	require.NoError(t, os.WriteFile(bad, b, 0o644))
	require.NoError(t, os.Remove(filepath.Join(folder, "p/0/00000")))
	require.ErrorContains(t, download("p/0/00000"), "checksum")
	assert.NoFileExists(t, filepath.Join(folder, "p/0/00000"))
}
