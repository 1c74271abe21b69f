package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
)

const (
	// ownBucket is the bucket that is made if the user names no bucket.
	ownBucket = "aimd-demo"
	// probeTime bounds each request of the probe, so that a wrong endpoint is reported soon.
	probeTime = 10 * time.Second
	// deleteMost is how many objects S3 deletes in one request.
	deleteMost = 1000
)

// endpoint is an S3 server that runs already. All objects of the demo have a prefix of
// their own, and the demo touches only objects with this prefix.
type endpoint struct {
	place
	url string
	// made: the bucket was not there before.
	made bool
}

// connect finds out with a few small requests whether the endpoint can be used
// at all, before hundreds of goroutines find out that it cannot.
func connect(ctx context.Context, address, bucket string) (*endpoint, error) {
	probe, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	e := &endpoint{url: address, place: place{bucket: bucket, prefix: "aimd-demo-" + rand.Text()[:8] + "/"}}
	cfg, err := reach.S3(ctx, address, probeTime)
	if err != nil {
		return nil, err
	}
	// The strategies say how to retry, not the environment.
	cfg.RetryMaxAttempts, cfg.RetryMode = 0, ""
	e.config = cfg
	client := s3.NewFromConfig(cfg, pathStyle, func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
	if err := e.haveBucket(probe, client); err != nil {
		return nil, err
	}
	if err := e.tryWriting(probe, client); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *endpoint) explain(doing string, err error) error {
	where := reach.Where(e.url)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case reach.Status(err) == http.StatusForbidden:
		return fmt.Errorf("%s: the credentials do not allow %s: %w", where, doing, err)
	}
	return reach.Explain(where+": "+doing, probeTime, err)
}

func (e *endpoint) haveBucket(ctx context.Context, client *s3.Client) error {
	named := e.bucket != ""
	if !named {
		e.bucket = ownBucket
	}
	_, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &e.bucket})
	var missing *types.NotFound
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &missing):
		return e.explain("asking for bucket "+e.bucket, err)
	case named:
		return fmt.Errorf("--bucket %s: there is no such bucket at %s; make it first, or leave --bucket out to have %s made and removed again", e.bucket, e.url, ownBucket)
	}
	in := &s3.CreateBucketInput{Bucket: &e.bucket}
	if region := e.config.Region; region != "us-east-1" {
		in.CreateBucketConfiguration = &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(region)}
	}
	if _, err := client.CreateBucket(ctx, in); err != nil {
		return e.explain("making bucket "+e.bucket, err)
	}
	e.made = true
	return nil
}

func (e *endpoint) tryWriting(ctx context.Context, client *s3.Client) error {
	key := e.prefix + "probe"
	if _, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &e.bucket, Key: &key, Body: bytes.NewReader([]byte("probe"))}); err != nil {
		return e.explain("writing to bucket "+e.bucket, err)
	}
	if _, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &e.bucket, Key: &key}); err != nil {
		return e.explain("deleting from bucket "+e.bucket, err)
	}
	return nil
}

// open is a place of its own for the strategy: a prefix within the run's.
func (e *endpoint) open(strategy string) (*place, error) {
	p := e.place
	p.prefix += strategy + "/"
	p.peak = func() int { return 0 }
	p.clear = p.remove
	return &p, nil
}

// close removes the bucket if it was made here; it is empty again.
func (e *endpoint) close() error {
	if !e.made {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	if _, err := e.steward().DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &e.bucket}); err != nil {
		return fmt.Errorf("bucket %s is left at %s: %w", e.bucket, e.url, err)
	}
	return nil
}

// remove deletes every object of the place, also after an interruption.
func (p *place) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), verifyTime)
	defer cancel()
	left := func(err error) error {
		return fmt.Errorf("objects are left in bucket %s under %s: %w", p.bucket, p.prefix, err)
	}
	all, err := p.list(ctx)
	if err != nil {
		return left(err)
	}
	client := p.steward()
	for len(all) > 0 {
		n := min(len(all), deleteMost)
		var ids []types.ObjectIdentifier
		for _, o := range all[:n] {
			ids = append(ids, types.ObjectIdentifier{Key: aws.String(o.key)})
		}
		res, err := client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &p.bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)}})
		if err != nil {
			return left(err)
		}
		if len(res.Errors) > 0 {
			return left(errors.New(aws.ToString(res.Errors[0].Message)))
		}
		all = all[n:]
	}
	return nil
}
