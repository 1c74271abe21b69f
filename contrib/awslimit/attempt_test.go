package awslimit_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/contrib/awslimit"
	"github.com/aimd-go/aimd/internal/attempttest"
)

// An operation ends its attempts in each way in which they may end.
func TestTheLifeOfAnOperation(t *testing.T) {
	ok := func(req *http.Request) *http.Response {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}
	}
	attempttest.Run(t, func(ctx context.Context, l *aimd.Limiter, send func(context.Context) error) error {
		cfg := aws.Config{
			Region: "us-east-1", BaseEndpoint: aws.String("http://store.example"), Credentials: aws.CredentialsProviderFunc(fixedCredentials),
			HTTPClient: &http.Client{Transport: attempttest.Trip(send, ok)},
		}
		awslimit.Limit(&cfg, l)
		return put(ctx, pathStyle(cfg), "k", "x")
	})
}
