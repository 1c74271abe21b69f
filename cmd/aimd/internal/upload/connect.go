package upload

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
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
	w := sim.Window{Law: u.Law, Initial: min(u.InitialWindow, u.MaxWindow), Max: u.MaxWindow}
	if strategy.TakesFactor(u.Law) {
		w.Factor = u.Factor
	}
	c := strategy.Config(w)
	c.Name, c.FirstContact = "upload", time.Nanosecond // a wrong endpoint shows at once
	if u.limiter, err = limiter.New(w.MakeLaw(), c); err != nil {
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
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = u.Endpoint != "" && !u.VirtualHost })
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

// probe finds out with one request whether the bucket can be used, before thousands find
// out that it cannot. Its error says in one line what is wrong.
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
	default:
		return explain(where, err)
	}
}

// explain is an error in one line for a request that failed within probeTime.
func explain(where string, err error) error {
	var dns *net.DNSError
	var op *net.OpError
	var plain tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	status := status(err)
	switch {
	case errors.As(err, &dns):
		return fmt.Errorf("%s: no such host: %w", where, dns)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%s: no service answers there: %w", where, op)
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &plain):
		return fmt.Errorf("%s: the server there does not speak TLS; want http:// in place of https://, or another port", where)
	case errors.As(err, &certificate):
		return fmt.Errorf("%s: its certificate is not trusted; AWS_CA_BUNDLE names a file with others: %w", where, certificate.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within %v: %w", where, probeTime, cli.Reason(err))
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return fmt.Errorf("%s: the credentials are not accepted: %w", where, cli.Reason(err))
	}
	return fmt.Errorf("%s: %w", where, err)
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
