package bucket

import (
	"context"
	"errors"
	"fmt"
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
	if err := reach.Credentials(ctx, b.Client.Options().Credentials); err != nil && parent.Err() == nil {
		return err
	}
	if !listing {
		_, err := b.Client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.Name})
		if reach.Status(err) == http.StatusForbidden {
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

func (b *Bucket) explain(parent context.Context, where string, err error) error {
	silent := reach.Explain(where, probeTime, err)
	switch status := reach.Status(err); {
	case err == nil:
		return nil
	case parent.Err() != nil:
		return parent.Err()
	case silent != nil:
		return silent
	case status == http.StatusNotFound:
		return fmt.Errorf("%s: there is no bucket %s; make it first", where, b.Name)
	case Denied(err):
		return fmt.Errorf("%s: the credentials do not allow to list bucket %s, as is needed to skip what is there; --force uploads without: %w", where, b.Name, reach.Innermost(err))
	case status == http.StatusForbidden, status == http.StatusUnauthorized:
		return fmt.Errorf("%s: the credentials are not accepted: %w", where, reach.Innermost(err))
	}
	return fmt.Errorf("%s: bucket %s cannot be used: %w", where, b.Name, err)
}
