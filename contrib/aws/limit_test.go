package aimdaws_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/aimd-go/aimd"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRoundTrip(t *testing.T) {
	srv := httptest.NewServer(gofakes3.New(s3mem.New(), gofakes3.WithAutoBucket(true)).Server())
	defer srv.Close()
	lim, err := aimd.NewReno()
	require.NoError(t, err)
	cfg := aws.Config{Region: "us-east-1", BaseEndpoint: &srv.URL, HTTPClient: srv.Client(), Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
	})}
	aimdaws.Limit(&cfg, lim)
	c := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	_, err = c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k"), Body: bytes.NewReader([]byte("x"))})
	require.NoError(t, err)
	o, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("b"), Key: aws.String("k")})
	require.NoError(t, err)
	require.Equal(t, 1, lim.Snapshot().InFlight)
	require.NoError(t, o.Body.Close())
	require.Equal(t, 0, lim.Snapshot().InFlight)
}
