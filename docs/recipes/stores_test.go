package recipes

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/go-kit/log"
	"github.com/stretchr/testify/assert"
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
	transport, err := htransport.NewTransport(ctx, &httplimit.Transport{Limiter: httplimit.One(lim)}, opts...) // authenticates
	if err != nil {
		return nil, err
	}
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
		Transport: &http.Client{Transport: &httplimit.Transport{Limiter: httplimit.One(lim)}},
	}})
}

func newBucket(logger log.Logger, config objs3.Config, lim *aimd.Limiter) (objstore.Bucket, error) {
	return objs3.NewBucketWithConfig(logger, config, "backup", func(base http.RoundTripper) http.RoundTripper {
		return &httplimit.Transport{Base: base, Limiter: httplimit.One(lim)}
	})
}

// slotted serves so many requests at a time, 40 ms each, and refuses the others as the service does.
type slotted struct {
	slots   int
	refuse  func(http.ResponseWriter)
	created int // the status of a write

	mu            sync.Mutex
	busy, refused int
	objects       map[string]string
}

func (s *slotted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	if !s.enter() {
		s.refuse(w)
		return
	}
	time.Sleep(40 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	switch {
	case r.Method == http.MethodGet:
		fmt.Fprint(w, "hello")
	case r.Method == http.MethodPut:
		s.objects[r.URL.Path] = string(body)
		w.WriteHeader(s.created)
	}
}

func (s *slotted) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy == s.slots {
		s.refused++
		return false
	}
	s.busy++
	return true
}

// each calls fn for so many items, by 64 workers.
func each(t *testing.T, items int, fn func(i int) error) {
	t.Helper()
	work := make(chan int)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := range work {
				assert.NoError(t, fn(i))
			}
		})
	}
	for i := range items {
		work <- i
	}
	close(work)
	all.Wait()
}

// 1000 reads in Do of a store that takes 12 at a time: none is lost, whichever status refuses.
func TestGoogleCloudStorage(t *testing.T) {
	for _, status := range []int{503, 429} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &slotted{slots: 12, refuse: func(w http.ResponseWriter) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(status)
					fmt.Fprintf(w, `{"error":{"code":%d,"message":"any","errors":[{"domain":"global","reason":"any"}]}}`, status)
				}}
				service, err := storage.NewService(t.Context(),
					option.WithHTTPClient(&http.Client{Transport: inMemory(store.ServeHTTP)}), option.WithEndpoint(service))
				require.NoError(t, err)
				lim := newLimiter(t, aimd.Config{})
				start := time.Now()
				each(t, 1000, func(i int) error {
					body, err := readObject(t.Context(), lim, service, "bucket", fmt.Sprint(i))
					assert.True(t, err != nil || string(body) == "hello")
					return err
				})
				require.EqualValues(t, 1000, lim.Snapshot().Successes)
				require.Positive(t, store.refused)
				t.Logf("%v, %d refused", time.Since(start), store.refused)
			})
		})
	}
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

// 1000 writes by a client with the SDK's own retries, to a store that takes 12 at a time: none is lost.
func TestAzureBlob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slotted{slots: 12, created: http.StatusCreated, objects: map[string]string{}, refuse: func(w http.ResponseWriter) {
			w.Header().Set("X-Ms-Error-Code", "ServerBusy")
			w.WriteHeader(http.StatusServiceUnavailable)
		}}
		byDefault(t, inMemory(store.ServeHTTP))
		key, err := azblob.NewSharedKeyCredential("account", base64.StdEncoding.EncodeToString([]byte("secret")))
		require.NoError(t, err)
		lim := newLimiter(t, aimd.Config{})
		client, err := newBlobs(service, key, lim)
		require.NoError(t, err)
		start := time.Now()
		each(t, 1000, func(i int) error {
			_, err := client.UploadBuffer(t.Context(), "container", fmt.Sprint(i), []byte("hello"), nil)
			return err
		})
		require.Len(t, store.objects, 1000)
		t.Logf("%v, %d refused", time.Since(start), store.refused)
		require.Less(t, store.refused, 100)
	})
}

func slowDown(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(http.StatusServiceUnavailable)
	fmt.Fprint(w, "<Error><Code>SlowDown</Code></Error>")
}

// The same for objstore, whose S3 client is minio-go.
func TestObjstore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slotted{slots: 12, created: http.StatusOK, objects: map[string]string{}, refuse: slowDown}
		lim := newLimiter(t, aimd.Config{})
		config := objs3.DefaultConfig
		config.Bucket, config.Endpoint, config.Region, config.Insecure = "bucket", "service.example", "us-east-1", true
		config.AccessKey, config.SecretKey = "key", "secret"
		config.HTTPConfig.Transport = inMemory(store.ServeHTTP)
		bucket, err := newBucket(log.NewNopLogger(), config, lim)
		require.NoError(t, err)
		start := time.Now()
		each(t, 1000, func(i int) error { return bucket.Upload(t.Context(), fmt.Sprint(i), strings.NewReader("hello")) })
		require.NoError(t, bucket.Close())
		require.Len(t, store.objects, 1000)
		t.Logf("%v, %d refused", time.Since(start), store.refused)
		require.Less(t, store.refused, 100)
	})
}
