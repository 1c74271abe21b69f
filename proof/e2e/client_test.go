package e2e

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/awslimit"
	"github.com/aimd-go/aimd/contrib/miniolimit"
)

const bucket = "bucket"

// requireIdle requires that no slot leaked and no slot was released twice.
func requireIdle(t *testing.T, l *aimd.Limiter) {
	t.Helper()
	s := l.Snapshot()
	require.Zero(t, s.InFlight, "in flight: %v", s)
	require.Zero(t, s.Queued, "queued: %v", s)
	require.Zero(t, s.Late, "second releases: %v", s)
}

// newTransport keeps a connection for each goroutine, and gives up on a silent
// server after a time, 0: never.
func newTransport(t *testing.T, silence time.Duration) *http.Transport {
	t.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: 1024, ResponseHeaderTimeout: silence, ExpectContinueTimeout: time.Second}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// config is for the S3 server at the address, without a limiter.
func config(address string, tr http.RoundTripper) aws.Config {
	return aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: aws.String("http://" + address),
		HTTPClient:   &http.Client{Transport: tr},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey}, nil
		}),
	}
}

func pathStyle(cfg aws.Config) *s3.Client {
	return s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
}

// limited is a client of the AWS SDK under the limiter.
func limited(address string, tr http.RoundTripper, l *aimd.Limiter) *s3.Client {
	cfg := config(address, tr)
	awslimit.Limit(&cfg, l)
	return pathStyle(cfg)
}

// steward returns a client without a limiter, for requests that are not measured. It makes the
// bucket.
func steward(ctx context.Context, t *testing.T, address string) *s3.Client {
	t.Helper()
	c := pathStyle(config(address, newTransport(t, 0)))
	_, err := c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	require.NoError(t, err)
	return c
}

// upload uploads an object, and returns an error unless the store has it.
type upload = func(ctx context.Context, key string, body []byte) error

// sdk makes an upload through an SDK to the address under the limiter.
type sdk = func(t *testing.T, address string, l *aimd.Limiter) upload

func throughAWS(t *testing.T, address string, l *aimd.Limiter) upload {
	return put(limited(address, newTransport(t, 0), l))
}

func throughMinio(t *testing.T, address string, l *aimd.Limiter) upload {
	opts := minioOptions(nil)
	require.NoError(t, miniolimit.Limit(opts, l))
	t.Cleanup(opts.Transport.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	return minioPut(t, address, opts)
}

func minioOptions(tr http.RoundTripper) *minio.Options {
	return &minio.Options{
		Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Region: "us-east-1", BucketLookup: minio.BucketLookupPath, Transport: tr,
	}
}

func minioPut(t *testing.T, address string, opts *minio.Options) upload {
	t.Helper()
	c, err := minio.New(address, opts)
	require.NoError(t, err)
	return func(ctx context.Context, key string, body []byte) error {
		_, err := c.PutObject(ctx, bucket, key, bytes.NewReader(body), int64(len(body)), minio.PutObjectOptions{})
		return err
	}
}

// put uploads with the client.
func put(c *s3.Client) upload {
	return func(ctx context.Context, key string, body []byte) error {
		_, err := c.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String(key), Body: bytes.NewReader(body)})
		return err
	}
}

// stored is what the gateway has, keys and MD5 sums: by its own listing, and by
// the files beneath it, which must agree.
func stored(ctx context.Context, t *testing.T, g *gateway, c *s3.Client) map[string]string {
	t.Helper()
	all := map[string]string{}
	pages := s3.NewListObjectsV2Paginator(c, &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		require.NoError(t, err)
		for _, o := range page.Contents {
			all[aws.ToString(o.Key)] = strings.Trim(aws.ToString(o.ETag), `"`)
		}
	}
	require.Equal(t, g.files(t), all, "the listing is what the files are")
	return all
}
