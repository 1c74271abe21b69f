package upload

import (
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/s3/manager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"go.uber.org/atomic"
)

const (
	// partsMost is S3's: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
	partsMost = 10_000
	// At most partsAtOnce parts of a file and largeAtOnce files in parts are under way. Our
	// choice: more than a window needs, and goroutines for a few MiB.
	partsAtOnce, largeAtOnce = 64, 4
	// abortTime bounds the removal of parts, leftTime the question for them: a user may wait.
	abortTime, leftTime = 10 * time.Second, 5 * time.Second
)

// store puts files into the bucket. It is safe for several goroutines. The client has the
// slots, the retries and the time limits.
type store struct {
	*s3.Client
	Config
	large   chan struct{} // has an item for each file that is under way in parts
	inParts atomic.Bool   // a file was uploaded in parts

	mu sync.Mutex
	// left are the uploads whose parts are in the store, or may be. Guarded by mu.
	left []incomplete
}

// incomplete is an upload in parts that is neither complete nor aborted.
type incomplete struct {
	Key string `json:"key"`
	ID  string `json:"upload_id"`
}

// put uploads the file, in parts if it is larger than a part. If put returns nil, the store has
// the file. If put returns an error, no part is left, or left names the upload.
func (s *store) put(ctx context.Context, key string, f *file) error {
	in := &s3.PutObjectInput{Bucket: &s.Bucket, Key: &key, Body: f.section(0, f.info.Size())}
	if s.Checksum != md5Only {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc64nvme
	}
	if t := mime.TypeByExtension(path.Ext(key)); t != "" {
		in.ContentType = &t
	}
	parts := f.info.Size() / s.sizeOfParts(f.info.Size())
	if parts > 0 {
		s.inParts.Store(true)
		select {
		case s.large <- struct{}{}:
			defer func() { <-s.large }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// transfermanager, the successor of this package, copies each part into memory first:
	// https://github.com/aws/aws-sdk-go-v2/issues/3453
	//lint:ignore SA1019 this package reads the parts from the file
	out, err := manager.NewUploader(transfer{s, f}, func(u *manager.Uploader) {
		u.PartSize, u.Concurrency = s.PartSize, int(min(partsAtOnce, parts+1))
		u.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	}).Upload(ctx, in)
	if err != nil {
		return s.despite(ctx, err, key, f)
	}
	// A store that answers with a checksum has compared it with ours.
	if out.ChecksumCRC64NVME == nil {
		o := newObject(aws.Int64(f.info.Size()), out.ETag)
		if same, err := s.same(f, o); !same || err != nil {
			return cmp.Or(err, fmt.Errorf("not verified: the store answers with no checksum, and its ETag %q is not that of the file", o.etag))
		}
	}
	return f.unchanged()
}

// despite is the error of an upload; nil if the store has the file all the same, because
// only the answer was lost.
func (s *store) despite(ctx context.Context, err error, key string, f *file) error {
	var parts manager.MultiUploadFailure
	if errors.As(err, &parts) {
		err = errors.Unwrap(parts) // without its long words
	}
	// An upload is gone, NoSuchUpload, if an attempt without an answer has completed it.
	if ctx.Err() != nil || final(err) && code(err) != "NoSuchUpload" {
		return err
	}
	if has, hasErr := s.has(ctx, key, f, nil); !has || hasErr != nil {
		return err
	}
	return f.unchanged()
}

// transfer is the store as the transfer manager sees it, for one file.
type transfer struct {
	*store
	f *file
}

// CompleteMultipartUpload makes no object of parts that were read before and after a change.
func (t transfer) CompleteMultipartUpload(
	ctx context.Context, in *s3.CompleteMultipartUploadInput, opts ...func(*s3.Options),
) (*s3.CompleteMultipartUploadOutput, error) {
	if err := t.f.unchanged(); err != nil {
		return nil, err
	}
	return t.Client.CompleteMultipartUpload(ctx, in, opts...)
}

// AbortMultipartUpload is the transfer manager's, after the last answer to a part. It works after the end of
// the context too. An upload that may be left is named.
func (s *store) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput, opts ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	out, err := s.Client.AbortMultipartUpload(ctx, in, opts...)
	if err != nil && status(err) != http.StatusNotFound {
		s.leave(incomplete{*in.Key, *in.UploadId})
	}
	return out, err
}

// final reports whether the store says no to the request permanently.
func final(err error) bool {
	s := status(err)
	return s >= 400 && s < 500 || s == http.StatusNotImplemented
}

func (s *store) leave(x incomplete) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.left, x) {
		s.left = append(s.left, x)
	}
}

// remains are the uploads in parts that this run may have left in the store. If it sent parts,
// remains also asks the store for those of other runs: a killed run cannot name its uploads.
func (s *store) remains(ctx context.Context, prefix string) []incomplete {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leftTime)
	defer cancel()
	if s.inParts.Load() {
		in := &s3.ListMultipartUploadsInput{Bucket: &s.Bucket, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
		out, err := s.ListMultipartUploads(ctx, in)
		for i := 0; err == nil && i < len(out.Uploads); i++ {
			// Not every store looks at the prefix.
			if key := decoded(out.Uploads[i].Key, out.EncodingType); strings.HasPrefix(key, prefix) {
				s.leave(incomplete{key, aws.ToString(out.Uploads[i].UploadId)})
			}
		}
	}
	return s.left
}

// has reports whether the store has the file's content. found is the object in a listing, if any.
func (s *store) has(ctx context.Context, key string, f *file, found *object) (bool, error) {
	if found != nil {
		if same, err := s.same(f, found); same || err != nil || found.size != f.info.Size() {
			return same, err
		}
	}
	out, err := s.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.Bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if status(err) == http.StatusNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	o := newObject(out.ContentLength, out.ETag)
	o.crc64 = out.ChecksumCRC64NVME
	return s.same(f, o)
}

// nvme is the polynomial 0xAD93D23594C93659 of the NVM Express specification, reflected.
var nvme = crc64.MakeTable(0x9a6c9329ac4bc9b5)

// same reports whether the object is shown to have the file's content.
func (s *store) same(f *file, o *object) (bool, error) {
	size := f.info.Size()
	switch {
	case o.size != size:
		return false, nil
	case o.crc64 != nil:
		sum, err := f.sum(crc64.New(nvme), 0, size)
		return base64.StdEncoding.EncodeToString(sum) == *o.crc64, err
	}
	// An ETag may be the MD5 or, with a dash and their number, the MD5 of the MD5s of the
	// parts. Neither is promised: https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html
	want, number, inParts := strings.Cut(o.etag, "-")
	part := max(size, 1)
	if inParts {
		part = s.sizeOfParts(size)
	}
	if len(want) != 2*md5.Size || inParts && number != fmt.Sprint((size+part-1)/part) {
		return false, nil
	}
	whole := md5.New()
	for off := int64(0); off < max(size, 1); off += part {
		sum, err := f.sum(md5.New(), off, min(part, size-off))
		if err != nil || !inParts {
			return hex.EncodeToString(sum) == want, err
		}
		whole.Write(sum)
	}
	return hex.EncodeToString(whole.Sum(nil)) == want, nil
}

// checksummed adds the checksum of the body to a request that has one. The SDK would add it
// behind the body if the connection is encrypted, in a form that older stores take for content.
func checksummed(stack *middleware.Stack) error {
	return stack.Build.Add(middleware.BuildMiddlewareFunc("aimd-checksum", func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (
		out middleware.BuildOutput, metadata middleware.Metadata, err error,
	) {
		if r, ok := in.Request.(*smithyhttp.Request); ok && r.Method == http.MethodPut && r.GetStream() != nil {
			h := crc64.New(nvme)
			_, err = io.Copy(h, r.GetStream())
			if err = errors.Join(err, r.RewindStream()); err != nil {
				return out, metadata, err
			}
			r.Header.Set("X-Amz-Checksum-Crc64nvme", base64.StdEncoding.EncodeToString(h.Sum(nil)))
		}
		return next.HandleBuild(ctx, in)
	}), middleware.After)
}

// sizeOfParts is the size of the parts that the transfer manager makes of a file.
func (s *store) sizeOfParts(size int64) int64 {
	if size/s.PartSize < partsMost {
		return s.PartSize
	}
	return size/partsMost + 1
}
