package recipes

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

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

// The README's upload to a store of 12 slots: nothing is lost.
func TestUploadOfTheREADME(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slotted{slots: 12, created: http.StatusOK, objects: map[string]string{}, refuse: slowDown}
		cfg := awsConfig(inMemory(store.ServeHTTP))
		paths, errs := make([]string, 500), make(chan error)
		var n atomic.Int64
		require.NoError(t, uploadAll(t.Context(), cfg, paths, func(ctx context.Context, c *s3.Client, _ string) error {
			_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String("photos"), Key: aws.String(fmt.Sprint(n.Inc()))})
			return err
		}, errs))
		for range paths {
			require.NoError(t, <-errs)
		}
		require.Len(t, store.objects, 500)
		require.Positive(t, store.refused)
	})
}
