package recipes

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-github/v84/github"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/awslimit"
	"github.com/aimd-go/aimd/httplimit"
)

func gitHub() (*github.Client, error) {
	lim, err := aimd.New(aimd.Config{})
	if err != nil {
		return nil, err
	}
	client := github.NewClient(httplimit.NewClient(lim))
	client.DisableRateLimitCheck = true // the limiter waits, and go-github does not refuse on its own
	return client, nil
}

// gitHubAPI answers as documented: 60 requests in a window of 10 s, then 403 with the time of the reset and
// no Retry-After.
type gitHubAPI struct {
	mu      sync.Mutex
	reset   time.Time
	left    int
	refused int
}

func (g *gitHubAPI) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(50 * time.Millisecond)
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := time.Now(); !now.Before(g.reset) {
		g.reset, g.left = now.Truncate(time.Second).Add(10*time.Second), 60
	}
	served := g.left > 0
	g.left = max(0, g.left-1)
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-RateLimit-Limit", "60")
	h.Set("X-RateLimit-Remaining", strconv.Itoa(g.left))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(g.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
	if !served {
		g.refused++
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message":"API rate limit exceeded for 203.0.113.7.","documentation_url":"https://docs.github.com/rest/overview/resources-in-the-rest-api#rate-limiting"}`)
		return
	}
	fmt.Fprint(w, `{"full_name":"aimd-go/aimd"}`)
}

// 150 reads by 64 workers, of an API that serves 60 in 10 s: none is lost, by the recipe, and by Do around a
// client that refuses on its own after a refusal.
func TestGitHubsPrimaryLimit(t *testing.T) {
	type read func(context.Context) error
	get := func(c *github.Client) read {
		return func(ctx context.Context) error {
			_, _, err := c.Repositories.Get(ctx, "aimd-go", "aimd")
			return err
		}
	}
	for name, door := range map[string]func(*testing.T, http.RoundTripper) read{
		"the recipe": func(t *testing.T, tr http.RoundTripper) read {
			byDefault(t, tr)
			c, err := gitHub()
			require.NoError(t, err)
			c.BaseURL = &url.URL{Scheme: "http", Host: "service.example", Path: "/"}
			return get(c)
		},
		"Do around one that refuses on its own": func(t *testing.T, tr http.RoundTripper) read {
			lim, c := newLimiter(t, aimd.Config{}), github.NewClient(&http.Client{Transport: tr})
			c.BaseURL = &url.URL{Scheme: "http", Host: "service.example", Path: "/"}
			return func(ctx context.Context) error { return lim.Do(ctx, get(c)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &gitHubAPI{}
				one := door(t, inMemory(api.ServeHTTP))
				start := time.Now()
				each(t, 150, func(int) error { return one(t.Context()) })
				t.Logf("%v, %d refused", time.Since(start), api.refused)
				require.Less(t, time.Since(start), 25*time.Second, "two resets, and the third window")
			})
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

func TestGoCloud(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		xml := map[string]string{"Content-Type": "application/xml"}
		tr, calls := serve(said{503, xml, `<Error><Code>SlowDown</Code></Error>`}, said{200, xml, ""})
		lim := newLimiter(t, aimd.Config{})
		bucket, err := openBucket(t.Context(), awsConfig(tr), lim, "bucket")
		require.NoError(t, err)
		require.NoError(t, bucket.WriteAll(t.Context(), "key", []byte("hello"), nil))
		require.NoError(t, bucket.Close())
		require.Equal(t, 2, *calls)
		require.EqualValues(t, 1, lim.Snapshot().Overloads)
	})
}

func limitKubernetes(config *rest.Config, lim *aimd.Limiter) {
	config.QPS = -1 // the limiter paces
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return &httplimit.Transport{Base: base, Limiter: httplimit.One(lim)}
	})
}

// An API server that sheds load answers 429 with a Retry-After, and client-go retries.
func TestKubernetes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, calls := serve(
			said{429, map[string]string{"Retry-After": "1"}, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`},
			said{200, nil, `{"major":"1"}`})
		lim := newLimiter(t, aimd.Config{})
		config := &rest.Config{Host: "http://service.example", Transport: tr}
		config.GroupVersion = &schema.GroupVersion{Version: "v1"}
		config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
		limitKubernetes(config, lim)
		client, err := rest.RESTClientFor(config)
		require.NoError(t, err)
		start := time.Now()
		got, err := client.Get().AbsPath("/version").DoRaw(t.Context())
		require.NoError(t, err)
		require.JSONEq(t, `{"major":"1"}`, string(got))
		require.Equal(t, 2, *calls)
		require.GreaterOrEqual(t, time.Since(start), time.Second)
		require.EqualValues(t, 1, lim.Snapshot().Overloads)
		require.EqualValues(t, 1, lim.Snapshot().Successes)
	})
}
