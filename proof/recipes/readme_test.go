package recipes

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/awslimit"
)

func uploadAll(ctx context.Context, cfg aws.Config, bucket string, paths []string) error {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		return err
	}
	awslimit.Limit(&cfg, lim) // cfg is your aws.Config
	client := s3.NewFromConfig(cfg)
	return aimd.Each(ctx, lim, slices.Values(paths), func(ctx context.Context, path string) error {
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = client.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &path, Body: file})
		return err
	})
}

// The README's upload, of which the store refuses the first requests: nothing is lost.
func TestUploadOfTheREADME(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"a", "b", "c", "d"} {
		paths = append(paths, filepath.Join(dir, name))
		require.NoError(t, os.WriteFile(paths[len(paths)-1], []byte(name), 0o600))
	}
	synctest.Test(t, func(t *testing.T) {
		refusal := captured(t, "s3_503_slow_down")
		tr, calls := serve(refusal, refusal, xml(200, ""))
		require.NoError(t, uploadAll(t.Context(), awsConfig(tr), "photos", paths))
		require.Equal(t, 6, *calls)
	})
}
