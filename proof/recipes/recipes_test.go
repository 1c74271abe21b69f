package recipes

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/go-kit/log"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	objs3 "github.com/thanos-io/objstore/providers/s3"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// Each recipe for an SDK, against a service that refuses the first request: the limiter hears it, and the second request
// succeeds.
func TestRecipes(t *testing.T) {
	for name, c := range map[string]struct {
		refusal string // of answer/testdata
		then    said
		call    func(context.Context, *aimd.Limiter, *http.Transport) error
	}{
		"anthropic-sdk-go": {"anthropic_529_overloaded", captured(t, "anthropic_200_message"),
			func(ctx context.Context, lim *aimd.Limiter, tr *http.Transport) error {
				_, err := message(ctx, lim, anthropicOn(tr), question)
				return err
			}},
		"openai-go": {"openai_429_retry_after", said{200, nil, `{"id":"1","object":"chat.completion","choices":[]}`},
			func(ctx context.Context, lim *aimd.Limiter, tr *http.Transport) error {
				_, err := complete(ctx, lim, openAIOn(tr), prompt)
				return err
			}},
		"client-go": {"kubernetes_429_status", said{200, nil, `{"major":"1"}`},
			func(ctx context.Context, lim *aimd.Limiter, tr *http.Transport) error {
				config := &rest.Config{Host: service, Transport: tr}
				config.GroupVersion = &schema.GroupVersion{Version: "v1"}
				config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
				limitKubernetes(config, lim)
				return must(rest.RESTClientFor(config)).Get().AbsPath("/version").Do(ctx).Error()
			}},
		"presigned URL": {"s3_503_slow_down", said{status: 200},
			func(ctx context.Context, lim *aimd.Limiter, _ *http.Transport) error {
				req := must(http.NewRequestWithContext(ctx, http.MethodPut, service+"bucket/key?X-Amz-Signature=1", strings.NewReader("hello")))
				resp, err := httplimit.NewClient(lim).Do(req)
				if err != nil {
					return err
				}
				return httplimit.Check(resp)
			}},
		"gocloud.dev/blob": {"s3_503_slow_down", xml(200, ""),
			func(ctx context.Context, lim *aimd.Limiter, tr *http.Transport) error {
				bucket := must(openBucket(ctx, awsConfig(tr), lim, "bucket"))
				defer bucket.Close()
				return bucket.WriteAll(ctx, "key", []byte("hello"), nil)
			}},
		"Google Cloud Storage, in Do": {"google_429_rate_of_requests", said{200, nil, "hello"},
			func(ctx context.Context, lim *aimd.Limiter, tr *http.Transport) error {
				client := must(storage.NewService(ctx, option.WithHTTPClient(&http.Client{Transport: tr}), option.WithEndpoint(service)))
				_, err := readObject(ctx, lim, client, "bucket", "key")
				return err
			}},
		"Azure Blob Storage": {"azure_blob_503_server_busy", said{status: 201},
			func(ctx context.Context, lim *aimd.Limiter, _ *http.Transport) error {
				key := must(azblob.NewSharedKeyCredential("account", base64.StdEncoding.EncodeToString([]byte("secret"))))
				_, err := must(newBlobs(service, key, lim)).UploadBuffer(ctx, "container", "key", []byte("hello"), nil)
				return err
			}},
		"objstore": {"s3_503_slow_down", xml(200, ""),
			func(ctx context.Context, lim *aimd.Limiter, tr *http.Transport) error {
				config := objs3.DefaultConfig
				config.Bucket, config.Endpoint, config.Region, config.Insecure = "bucket", "service.example", "us-east-1", true
				config.AccessKey, config.SecretKey, config.HTTPConfig.Transport = "key", "secret", tr
				return must(newBucket(log.NewNopLogger(), config, lim)).Upload(ctx, "key", strings.NewReader("hello"))
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tr, calls := serve(captured(t, c.refusal), c.then)
				byDefault(t, tr)
				lim := newLimiter(t, aimd.Config{})
				require.NoError(t, c.call(t.Context(), lim, tr))
				assert.Equal(t, 2, *calls)
				assert.EqualValues(t, []uint64{1, 1}, []uint64{lim.Snapshot().Successes, lim.Snapshot().Overloads})
			})
		})
	}
}
