package upload

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
	"github.com/aimd-go/aimd/sim"
)

// probeTime bounds the first questions: a wrong endpoint should show soon.
const probeTime = 15 * time.Second

// connect makes the limiter and the client, and finds out with a request or two whether
// the bucket can be used, before thousands find out that it cannot.
func (u *run) connect(ctx context.Context) (err error) {
	opts := []aimd.Option{
		aimd.WithName("upload"), aimd.WithLaw(sim.Window{Law: u.Law}.MakeLaw()),
		aimd.WithMaxWindow(u.MaxWindow), aimd.WithInitialWindow(min(u.InitialWindow, u.MaxWindow)),
	}
	if value.TakesFactor(u.Law) {
		opts = append(opts, aimd.WithFactor(u.Factor))
	}
	if u.limiter, err = aimd.New(opts...); err != nil {
		return err
	}
	if u.Watch != nil {
		u.Watch(u.limiter)
	}
	cfg, err := reach.S3(ctx, u.Endpoint, probeTime, config.WithHTTPClient(
		awshttp.NewBuildableClient().WithTimeout(u.Timeout).WithTransportOptions(func(t *http.Transport) {
			// The default keeps 10 connections, and dials again for all others.
			t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, int(u.MaxWindow)
		})))
	if err != nil {
		return err
	}
	u.wire = &wire{HTTPClient: cfg.HTTPClient}
	u.store = &store{bucket: u.Bucket, partSize: u.PartSize, large: make(chan struct{}, largeAtOnce), checksum: types.ChecksumAlgorithmCrc64nvme}
	if u.Checksum == md5Only {
		u.store.checksum = ""
		cfg.APIOptions = append(cfg.APIOptions, smithyhttp.AddContentChecksumMiddleware)
	}
	aimdaws.Limit(&cfg, u.limiter)
	cfg.HTTPClient, cfg.RetryMaxAttempts, cfg.RetryMode = u.wire, u.MaxAttempts, ""
	cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	u.store.Client = s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = u.Endpoint != "" && !u.VirtualHost })
	return u.probe(ctx)
}

// probe asks for the bucket. Its error says in one line what is wrong.
func (u *run) probe(parent context.Context) (err error) {
	ctx, cancel := context.WithTimeout(parent, probeTime)
	defer cancel()
	if u.Force {
		_, err = u.store.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &u.Bucket})
	} else {
		_, err = u.store.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &u.Bucket, Prefix: &u.Prefix, MaxKeys: aws.Int32(1)})
	}
	status := reach.Status(err)
	switch where := reach.Where(u.Endpoint); {
	case err == nil, u.Force && status == http.StatusForbidden: // the bucket may still be written to
		return nil
	case parent.Err() != nil:
		return parent.Err()
	case status == http.StatusNotFound:
		return fmt.Errorf("%s: there is no bucket %s; make it first", where, u.Bucket)
	case code(err) == "AccessDenied":
		return fmt.Errorf("%s: the credentials do not allow to list bucket %s, as is needed to skip what is there; "+
			"--force uploads without: %w", where, u.Bucket, reach.Innermost(err))
	default:
		return reach.Explain(where, probeTime, err)
	}
}
