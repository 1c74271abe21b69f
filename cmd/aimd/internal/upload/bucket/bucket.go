// Package bucket puts files into an S3 bucket, and believes only what the
// store answers.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
)

// Bucket is a bucket of a store. It is safe for several goroutines. Slots, retries
// and time limits are the client's affair.
type Bucket struct {
	Client *s3.Client
	Name   string
	// Checksum goes with every object and every part for the store to verify;
	// nil: Content-MD5 does, for stores that know no other.
	Checksum *sum.Algorithm

	// Wire watches the client's requests.
	Wire *Wire

	mu sync.Mutex
	// open are the uploads in parts that are under way, by their IDs. Guarded by mu.
	open map[string]Incomplete
	// inParts: there was one. Guarded by mu.
	inParts bool

	noChecksums sync.Once
	// OnNoChecksums is told once if the store answers with no checksum.
	OnNoChecksums func()
}

// unverified notes that the store answers with no checksum of ours.
func (b *Bucket) unverified() {
	if b.OnNoChecksums != nil && b.Checksum != nil {
		b.noChecksums.Do(b.OnNoChecksums)
	}
}

func missing(err error) bool { return reach.Status(err) == http.StatusNotFound }

func code(err error) string {
	var e interface{ ErrorCode() string }
	if errors.As(err, &e) {
		return e.ErrorCode()
	}
	return ""
}

// ambiguous reports whether the request may have been carried out though it
// ended with that error: anything but a plain no, and a no that tells that it was.
func ambiguous(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false // nobody wants to know any more
	}
	if code(err) == "NoSuchUpload" {
		return true // completed by an attempt whose answer was lost
	}
	status := reach.Status(err)
	return status >= 500 || status < 300
}

// hopeless are the codes of errors that every other request would get as well.
var hopeless = map[string]bool{
	"NoSuchBucket": true, "InvalidAccessKeyId": true, "SignatureDoesNotMatch": true, "ExpiredToken": true,
	"InvalidToken": true, "TokenRefreshRequired": true, "AccountProblem": true, "InvalidBucketName": true,
	"RequestTimeTooSkewed": true, "PermanentRedirect": true, "AuthorizationHeaderMalformed": true,
}

// Denied reports whether the store takes the credentials, but not for this.
func Denied(err error) bool { return code(err) == "AccessDenied" }

// Hopeless reports whether there is no use in going on with other files.
func Hopeless(err error) bool { return hopeless[code(err)] }

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
