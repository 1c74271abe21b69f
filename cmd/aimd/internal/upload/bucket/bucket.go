// Package bucket puts files into an S3 bucket, and believes only what the
// store answers.
package bucket

import (
	"context"
	"errors"
	"net/http"
	"sync"

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
