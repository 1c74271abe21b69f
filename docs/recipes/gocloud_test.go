package recipes

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/aimd-go/aimd"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
)

func openBucket(ctx context.Context, cfg aws.Config, lim *aimd.Limiter, name string) (*blob.Bucket, error) {
	aimdaws.Limit(&cfg, lim)
	return s3blob.OpenBucket(ctx, s3.NewFromConfig(cfg), name, nil)
}

func TestGoCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		xml := map[string]string{"Content-Type": "application/xml"}
		tr, calls := serve(t, answer{503, xml, `<Error><Code>SlowDown</Code></Error>`}, answer{200, xml, ""})
		lim := newLimiter(t)
		bucket, err := openBucket(t.Context(), aws.Config{
			Region: "us-east-1", BaseEndpoint: aws.String("http://service.example"), HTTPClient: &http.Client{Transport: tr},
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
			}),
		}, lim, "bucket")
		require.NoError(t, err)
		require.NoError(t, bucket.WriteAll(t.Context(), "key", []byte("hello"), nil))
		require.NoError(t, bucket.Close())
		require.Equal(t, 2, *calls)
		require.EqualValues(t, 1, lim.Snapshot().Overloads)
	})
}
