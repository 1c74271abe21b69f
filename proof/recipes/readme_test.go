package recipes

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/awslimit"
)

func uploadAll(ctx context.Context, cfg aws.Config, paths []string, upload func(context.Context, *s3.Client, string) error, errs chan<- error) error {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		return err
	}
	awslimit.Limit(&cfg, lim) // cfg is your aws.Config
	client := s3.NewFromConfig(cfg)
	for _, path := range paths { // as many goroutines as you like: the window decides
		go func() { errs <- upload(ctx, client, path) }()
	}
	return nil
}

// The README's upload, of which the store refuses the first requests: nothing is lost.
func TestUploadOfTheREADME(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := captured(t, "s3_503_slow_down")
		tr, calls := serve(refusal, refusal, xml(200, ""))
		paths, errs := []string{"a", "b", "c", "d"}, make(chan error)
		require.NoError(t, uploadAll(t.Context(), awsConfig(tr), paths, func(ctx context.Context, c *s3.Client, path string) error {
			_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("photos"), Key: aws.String(path)})
			return err
		}, errs))
		for range paths {
			require.NoError(t, <-errs)
		}
		require.Equal(t, 6, *calls)
	})
}
