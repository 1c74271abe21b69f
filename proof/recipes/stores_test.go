package recipes

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/go-kit/log"
	"github.com/stretchr/testify/require"
	"github.com/thanos-io/objstore"
	objs3 "github.com/thanos-io/objstore/providers/s3"
	"golang.org/x/oauth2"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
	htransport "google.golang.org/api/transport/http"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

func newStorage(ctx context.Context, lim *aimd.Limiter, opts ...option.ClientOption) (*storage.Service, error) {
	opts = append(opts, option.WithScopes(storage.DevstorageReadWriteScope))
	authenticates, err := htransport.NewTransport(ctx, http.DefaultTransport, opts...)
	if err != nil {
		return nil, err
	}
	transport := &httplimit.Transport{Base: authenticates, Limiter: lim} // the slot first, and then the token
	return storage.NewService(ctx, option.WithHTTPClient(&http.Client{Transport: transport}))
}

func readObject(ctx context.Context, lim *aimd.Limiter, service *storage.Service, bucket, name string) ([]byte, error) {
	return aimd.Do(ctx, lim, func(ctx context.Context) ([]byte, error) {
		resp, err := service.Objects.Get(bucket, name).Context(ctx).Download()
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		return io.ReadAll(resp.Body)
	})
}

func newBlobs(url string, key *azblob.SharedKeyCredential, lim *aimd.Limiter) (*azblob.Client, error) {
	return azblob.NewClientWithSharedKeyCredential(url, key, &azblob.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: &http.Client{Transport: &httplimit.Transport{Limiter: lim}},
	}})
}

func newBucket(logger log.Logger, config objs3.Config, lim *aimd.Limiter) (objstore.Bucket, error) {
	return objs3.NewBucketWithConfig(logger, config, "backup", func(base http.RoundTripper) http.RoundTripper {
		return &httplimit.Transport{Base: base, Limiter: lim}
	})
}

// A client with the limiter in its transport keeps its authentication.
func TestGoogleAuthentication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		byDefault(t, inMemory(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.Header.Get("Authorization"))
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"name":"key"}`)
		}))
		lim := newLimiter(t, aimd.Config{})
		client, err := newStorage(t.Context(), lim, option.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "token"})))
		require.NoError(t, err)
		client.BasePath = service
		object, err := client.Objects.Get("bucket", "key").Context(t.Context()).Do()
		require.NoError(t, err)
		require.Equal(t, "key", object.Name)
		require.Equal(t, []string{"Bearer token"}, asked)
		require.EqualValues(t, 1, lim.Snapshot().Successes)
	})
}
