package upload

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/bucket"
	"github.com/aimd-go/aimd/cmd/aimd/internal/value"
	aimdaws "github.com/aimd-go/aimd/contrib/aws"
	"github.com/aimd-go/aimd/sim"
)

// newLimiter is the one limiter that all requests share.
func (c Config) newLimiter() (*aimd.Limiter, error) {
	law := sim.Window{Law: c.Law}.MakeLaw()
	if law == nil {
		return nil, fmt.Errorf("there is no law %q, want one of %s", c.Law, strings.Join(sim.Laws(), ", "))
	}
	opts := []aimd.Option{
		aimd.WithName("upload"), aimd.WithLaw(law),
		aimd.WithMaxWindow(c.MaxWindow), aimd.WithInitialWindow(min(c.InitialWindow, c.MaxWindow)),
	}
	if value.TakesFactor(c.Law) {
		opts = append(opts, aimd.WithFactor(c.Factor))
	}
	return aimd.New(opts...)
}

// open is the bucket, with a client that is set up as the AWS tools set up theirs
// and sends through the limiter.
func (c Config) open(ctx context.Context, l *aimd.Limiter) (*bucket.Bucket, error) {
	transport := awshttp.NewBuildableClient().WithTimeout(c.Timeout).WithTransportOptions(func(t *http.Transport) {
		// The default keeps 10 connections, and dials anew for all others.
		t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, int(c.MaxWindow)
		t.DialContext = bounding(t.DialContext)
	})
	options := []func(*config.LoadOptions) error{config.WithHTTPClient(transport), config.WithLogger(logging.Nop{})}
	if c.Endpoint != "" {
		options = append(options, config.WithBaseEndpoint(c.Endpoint), config.WithDefaultRegion("us-east-1"))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("reading the AWS environment: %w", err)
	}
	if cfg.Region == "" {
		return nil, fmt.Errorf("no AWS region found; set AWS_REGION or the profile's region, or give --endpoint")
	}
	// The checksums are our own; the SDK would add others to requests that need none.
	cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	aimdaws.Limit(&cfg, l)
	cfg.RetryMaxAttempts, cfg.RetryMode = c.MaxAttempts, ""
	wire := new(bucket.Wire)
	cfg.APIOptions = append(cfg.APIOptions, wire.Watch)
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = c.Endpoint != "" && !c.VirtualHost })
	return &bucket.Bucket{Client: client, Name: c.Bucket, Checksum: c.Checksum, Wire: wire}, nil
}

// writeBuffer is how much a connection takes that is not on its way yet. Without a
// bound most of a part may be, and the progress counts it as sent. Our choice:
// 5 MB/s and more for each connection over 100 ms, and there are as many as the window.
const writeBuffer = 512 << 10

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

func bounding(dial dial) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
			_ = tcp.SetWriteBuffer(writeBuffer) // else it is as large as the system has it
		}
		return conn, err
	}
}
