package upload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/strategy"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
	"github.com/aimd-go/aimd/limiter"
	"github.com/aimd-go/aimd/sim"
)

// probeTime bounds the first requests: a wrong endpoint should show soon.
const probeTime = 15 * time.Second

// connect makes the limiter and the client.
func (u *run) connect(ctx context.Context) (err error) {
	// A wrong endpoint shows at once.
	c := limiter.Config{Name: "upload", Rules: limiter.Rules{MaxWindow: u.MaxWindow, FirstContact: time.Nanosecond}}
	if strategy.TakesFactor(u.Law) {
		c.Factor = 0.9
	}
	if u.limiter, err = limiter.New(sim.Window{Law: u.Law}.MakeLaw(), c); err != nil {
		return err
	}
	if u.Watch != nil {
		u.Watch(u.limiter)
	}
	cfg, err := u.environment(ctx)
	if err != nil {
		return err
	}
	checksum := checksummed
	if u.Checksum == md5Only {
		checksum = smithyhttp.AddContentChecksumMiddleware
	}
	cfg.APIOptions = append(cfg.APIOptions, checksum)
	aimdaws.Limit(&cfg, u.limiter)
	u.wire = &wire{HTTPClient: cfg.HTTPClient}
	cfg.HTTPClient, cfg.RetryMaxAttempts, cfg.RetryMode = u.wire, u.MaxAttempts, ""
	cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = u.Endpoint != "" })
	u.store = &store{Client: client, Config: u.Config, large: make(chan struct{}, largeAtOnce)}
	return u.probe(ctx)
}

// environment is the configuration for the store. It finds credentials, profile and region
// as the AWS tools do. Its error says in one line which setting is missing.
func (u *run) environment(parent context.Context) (aws.Config, error) {
	ctx, cancel := context.WithTimeout(parent, probeTime)
	defer cancel()
	client := awshttp.NewBuildableClient().WithTimeout(u.Timeout).WithTransportOptions(func(t *http.Transport) {
		// The default keeps 10 connections, and dials again for all others.
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, int(u.MaxWindow)
	})
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(client), config.WithLogger(logging.Nop{})}
	if u.Endpoint != "" {
		options = append(options, config.WithBaseEndpoint(u.Endpoint), config.WithDefaultRegion("us-east-1"))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("reading the AWS environment: %w", err)
	}
	if cfg.Region == "" {
		return cfg, errors.New("no AWS region found; set AWS_REGION or the profile's region, or give --endpoint")
	}
	if _, err := cfg.Credentials.Retrieve(ctx); err != nil {
		return cfg, fmt.Errorf("%s: no AWS credentials found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w",
			u.where(), cli.Reason(err))
	}
	return cfg, parent.Err()
}

// where is the store as users know it.
func (u *run) where() string {
	if u.Endpoint == "" {
		return "AWS"
	}
	return "--endpoint " + u.Endpoint
}

// probe asks with one request whether the bucket can be used, before thousands of requests
// fail. Its error says in one line what is wrong.
func (u *run) probe(parent context.Context) (err error) {
	ctx, cancel := context.WithTimeout(parent, probeTime)
	defer cancel()
	if u.Force {
		_, err = u.store.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &u.Bucket})
	} else {
		_, err = u.store.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &u.Bucket, Prefix: &u.Prefix, MaxKeys: aws.Int32(1)})
	}
	status, where := status(err), u.where()
	switch {
	case err == nil, u.Force && status == http.StatusForbidden: // the bucket may still be written to
		return nil
	case parent.Err() != nil:
		return parent.Err()
	case status == http.StatusNotFound:
		return fmt.Errorf("%s: there is no bucket %s; make it first", where, u.Bucket)
	case code(err) == "AccessDenied":
		return fmt.Errorf("%s: the credentials do not allow to list bucket %s, as is needed to skip what is there; "+
			"--force uploads without: %w", where, u.Bucket, cli.Reason(err))
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within %v", where, probeTime)
	}
	return fmt.Errorf("%s: %w", where, cli.Reason(err))
}

// status is the status of the answer in the error, 0 if there was no answer.
func status(err error) int {
	var s interface{ HTTPStatusCode() int }
	if errors.As(err, &s) {
		return s.HTTPStatusCode()
	}
	return 0
}

// code is the store's word for the error, "" if there was no answer.
func code(err error) string {
	var e interface{ ErrorCode() string }
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return ""
}
