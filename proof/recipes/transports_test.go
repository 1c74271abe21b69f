package recipes

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-github/v89/github"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
	"k8s.io/client-go/rest"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/awslimit"
	"github.com/aimd-go/aimd/httplimit"
)

func gitHub(base github.ClientOptionsFunc) (*github.Client, error) {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		return nil, err
	}
	// The limiter waits, and go-github does not refuse on its own.
	return github.NewClient(github.WithHTTPClient(httplimit.NewClient(lim)), github.WithDisableRateLimitCheck(), base)
}

// After the primary limit nothing is sent until the reset, by the recipe, and by Do around a client that refuses on its own.
func TestGitHubsPrimaryLimit(t *testing.T) {
	for _, recipe := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(2 * 365 * 24 * time.Hour) // a bubble begins in 2000, and what is taken for an epoch in 2001
			reset := fmt.Sprint(time.Now().Add(30 * time.Second).Unix())
			tr, calls := serve(said{403, map[string]string{"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset},
				captured(t, "github_403_primary").body}, said{200, nil, `{"full_name":"aimd-go/aimd"}`})
			byDefault(t, tr)
			base := service
			inMemory := github.WithURLs(&base, nil)
			c, err := github.NewClient(github.WithTransport(tr), inMemory)
			require.NoError(t, err)
			do := newLimiter(t, aimd.Config{}).Do
			if recipe {
				c, err = gitHub(inMemory)
				require.NoError(t, err)
				do = func(ctx context.Context, get func(context.Context) error) error { return get(ctx) }
			}
			start := time.Now()
			require.NoError(t, do(t.Context(), func(ctx context.Context) error {
				_, _, err := c.Repositories.Get(ctx, "aimd-go", "aimd")
				return err
			}))
			require.Equal(t, 2, *calls)
			require.GreaterOrEqual(t, time.Since(start), 29*time.Second)
		})
	}
}

func openBucket(ctx context.Context, cfg aws.Config, lim *aimd.Limiter, name string) (*blob.Bucket, error) {
	awslimit.Limit(&cfg, lim)
	return s3blob.OpenBucket(ctx, s3.NewFromConfig(cfg), name, nil)
}

func awsConfig(tr http.RoundTripper) aws.Config {
	return aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(service), HTTPClient: &http.Client{Transport: tr},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
		}),
	}
}

func limitKubernetes(config *rest.Config, lim *aimd.Limiter) {
	config.QPS = -1 // the limiter paces
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return &httplimit.Transport{Base: base, Limiter: lim}
	})
}
