package bucket

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
)

// probeTime bounds the questions of the probe: a wrong endpoint should be told soon.
const probeTime = 15 * time.Second

// Probe finds out with a request or two whether the bucket can be used, before
// thousands find out that it cannot. The error says in one line what is wrong.
// endpoint is "" for AWS itself. With listing, the bucket must let itself be listed.
func (b *Bucket) Probe(parent context.Context, endpoint, prefix string, listing bool) error {
	ctx, cancel := context.WithTimeout(parent, probeTime)
	defer cancel()
	where := "AWS"
	if endpoint != "" {
		where = "--endpoint " + endpoint
		if err := reach.Endpoint(ctx, endpoint); err != nil {
			return b.explain(parent, where, err)
		}
	}
	if _, err := b.Client.Options().Credentials.Retrieve(ctx); err != nil && parent.Err() == nil {
		return fmt.Errorf("no AWS credentials found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w", innermost(err))
	}
	if !listing {
		_, err := b.Client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.Name})
		if status(err) == http.StatusForbidden {
			return nil // it may still let itself be written to
		}
		return b.explain(parent, where, err)
	}
	_, err := b.Client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &b.Name, Prefix: &prefix, MaxKeys: aws.Int32(1)})
	if errors.Is(err, errLongAnswer) {
		return nil // one that does not look at MaxKeys; the finder does without
	}
	return b.explain(parent, where, err)
}

// explain says in one line what is wrong.
func (b *Bucket) explain(parent context.Context, where string, err error) error {
	var dns *net.DNSError
	var op *net.OpError
	var code interface{ ErrorCode() string }
	switch {
	case err == nil:
		return nil
	case parent.Err() != nil:
		return parent.Err()
	case errors.As(err, &dns):
		return fmt.Errorf("%s: no such host: %w", where, dns)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%s: nobody answers there: %w", where, op)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: no answer within %v: %w", where, probeTime, innermost(err))
	case status(err) == http.StatusNotFound:
		return fmt.Errorf("%s: there is no bucket %s; make it first", where, b.Name)
	case errors.As(err, &code) && code.ErrorCode() == "AccessDenied":
		return fmt.Errorf("%s: the credentials do not allow to list bucket %s, as is needed to skip what is there; --force uploads without: %w", where, b.Name, innermost(err))
	case status(err) == http.StatusForbidden, status(err) == http.StatusUnauthorized:
		return fmt.Errorf("%s: the credentials are not accepted: %w", where, innermost(err))
	}
	return fmt.Errorf("%s: bucket %s cannot be used: %w", where, b.Name, err)
}

func status(err error) int {
	var s interface{ HTTPStatusCode() int }
	if errors.As(err, &s) {
		return s.HTTPStatusCode()
	}
	return 0
}

// innermost is the first cause, without what the SDK has put around it.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if several, ok := err.(interface{ Unwrap() []error }); ok && len(several.Unwrap()) > 0 {
			inner = several.Unwrap()[0]
		}
		if inner == nil {
			return err
		}
		err = inner
	}
}
