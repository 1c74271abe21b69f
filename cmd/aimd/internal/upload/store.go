package upload

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"go.uber.org/atomic"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/attempt"
)

const (
	// partsMost is S3's: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
	partsMost = 10_000
	// At most partsAtOnce parts of a file and largeAtOnce files in parts are under way. Our
	// choice: more than a window needs, and goroutines for a few MiB.
	partsAtOnce, largeAtOnce = 64, 4
	// abortTime bounds the removal of parts: a user may wait.
	abortTime = 10 * time.Second
)

// store puts files into the bucket. It is safe for several goroutines. The client has the
// slots, the retries and the time limits.
type store struct {
	// sent is the bytes of files that the store has taken. It comes first to be aligned on 32-bit machines.
	sent atomic.Int64
	*s3.Client
	Config
	// large is for files under way in parts, room for bytes.
	large, room *semaphore.Weighted
	// twice is once with a backup, nil without backups.
	twice func(context.Context, whole) (*s3.PutObjectOutput, error)
}

// roomFirst is the number of bytes under way at the start, at most. Our choice: ten parts, which
// take 300 s, the --timeout, at 5 Mbit/s.
const roomFirst = 160 << 20

// newRoom is the room for bytes under way: all but roomFirst is taken.
func newRoom() *semaphore.Weighted {
	room := semaphore.NewWeighted(math.MaxInt64)
	room.TryAcquire(math.MaxInt64 - roomFirst)
	return room
}

// within sends n bytes when there is room. Each success makes as much more, as in slow start: the first window is of
// requests, and would be too much for a slow line if they are large.
func (s *store) within(ctx context.Context, n int64, send func() error) error {
	n = min(n, roomFirst)
	if err := s.room.Acquire(ctx, n); err != nil {
		return err
	}
	err := send()
	if s.room.Release(n); err == nil {
		s.room.Release(n)
	}
	return err
}

// put uploads the file, in parts if it is larger than a part. If put returns nil, the store has the file.
func (s *store) put(ctx context.Context, key string, f *file) error {
	upload := s.whole
	if size := f.info.Size(); size > s.sizeOfParts(size) {
		upload = s.parts
	}
	if err := upload(ctx, key, f); err != nil {
		// Only the answer may be lost: then the next attempt at a completion gets NoSuchUpload.
		if c := status(err); c >= 400 && c < 500 && code(err) != "NoSuchUpload" {
			return err
		}
		if has, _ := s.has(ctx, key, f, nil); !has {
			return err
		}
	}
	return f.unchanged()
}

// verified returns an error unless an answer shows that the store has n bytes of the file from off: by their checksum, or by
// an ETag that is their MD5. ours is the checksum that was sent, nil if it was none.
func verified(f *file, off, n int64, ours, crc, etag *string) error {
	if crc != nil {
		var err error
		if ours == nil {
			ours, err = f.crc64(off, n)
		}
		if err == nil && *ours != *crc {
			err = unverified(fmt.Sprintf("the checksum %q, and that of what was sent is %q", *crc, *ours))
		}
		return err
	}
	sum, err := f.sum(md5.New(), off, n)
	if got := strings.Trim(aws.ToString(etag), `"`); err == nil && got != hex.EncodeToString(sum) {
		err = unverified(fmt.Sprintf("no checksum, and its ETag %q is not the MD5 of what was sent", got))
	}
	return err
}

// unverified is the error of an answer that does not show what the store has.
type unverified string

func (u unverified) Error() string   { return "not verified: the store answers with " + string(u) }
func (unverified) ErrorCode() string { return "NotVerified" }

func contentType(key string) *string { return optional(mime.TypeByExtension(path.Ext(key))) }

// optional is nil for "".
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// whole is a file that goes in one request.
type whole struct {
	key             string
	file            *file
	crc, contentMD5 *string
}

// once sends the file, with a reader of its own.
func (s *store) once(ctx context.Context, w whole) (*s3.PutObjectOutput, error) {
	return s.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.Bucket, Key: &w.key, Body: w.file.section(0, w.file.info.Size()), ContentType: contentType(w.key),
		ChecksumCRC64NVME: w.crc, ContentMD5: w.contentMD5,
		StorageClass: types.StorageClass(s.StorageClass), ServerSideEncryption: types.ServerSideEncryption(s.SSE), SSEKMSKeyId: optional(s.SSEKMSKeyID),
	})
}

// whole uploads the file in one request, or with a backup.
func (s *store) whole(ctx context.Context, key string, f *file) (err error) {
	size, w, send := f.info.Size(), whole{key: key, file: f}, s.once
	if w.crc, w.contentMD5, err = s.sum(f, 0, size); err != nil {
		return err
	}
	if s.twice != nil {
		send = s.twice
	}
	var out *s3.PutObjectOutput
	if err = s.within(ctx, size, func() (err error) { out, err = send(ctx, w); return err }); err != nil {
		return err
	}
	s.sent.Add(size)
	return verified(f, 0, size, w.crc, out.ChecksumCRC64NVME, out.ETag)
}

// parts uploads the file in parts. If it fails, it removes those that were sent.
func (s *store) parts(ctx context.Context, key string, f *file) error {
	if err := s.large.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.large.Release(1)
	in := &s3.CreateMultipartUploadInput{
		Bucket: &s.Bucket, Key: &key, ContentType: contentType(key),
		StorageClass: types.StorageClass(s.StorageClass), ServerSideEncryption: types.ServerSideEncryption(s.SSE), SSEKMSKeyId: optional(s.SSEKMSKeyID),
	}
	if s.Checksum != md5Only {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc64nvme
	}
	begun, err := s.CreateMultipartUpload(ctx, in)
	if err != nil {
		return err
	}
	parts, err := s.send(ctx, key, begun.UploadId, f)
	if err == nil {
		err = f.unchanged() // no object of parts that were read before and after a change
	}
	var out *s3.CompleteMultipartUploadOutput
	if err == nil {
		out, err = s.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
			Bucket: &s.Bucket, Key: &key, UploadId: begun.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		})
	}
	if err == nil && out.ChecksumCRC64NVME != nil && !strings.Contains(*out.ChecksumCRC64NVME, "-") { // of the whole object
		return verified(f, 0, f.info.Size(), nil, out.ChecksumCRC64NVME, nil)
	}
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	// If that fails, the parts stay until a rule of the bucket removes them.
	_, _ = s.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &s.Bucket, Key: &key, UploadId: begun.UploadId})
	return err
}

// send sends the parts, and returns after the last answer: a part must not come after an abort.
func (s *store) send(ctx context.Context, key string, id *string, f *file) ([]types.CompletedPart, error) {
	size, part := f.info.Size(), s.sizeOfParts(f.info.Size())
	sent := make([]types.CompletedPart, (size+part-1)/part)
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(partsAtOnce)
	for i := range sent {
		all.Go(func() (err error) {
			if err := ctx.Err(); err != nil { // another has failed
				return err
			}
			n, off := int32(i+1), int64(i)*part
			length := min(part, size-off)
			in := &s3.UploadPartInput{Bucket: &s.Bucket, Key: &key, UploadId: id, PartNumber: &n, Body: f.section(off, length)}
			if in.ChecksumCRC64NVME, in.ContentMD5, err = s.sum(f, off, length); err != nil {
				return err
			}
			var out *s3.UploadPartOutput
			if err = s.within(ctx, length, func() (err error) { out, err = s.UploadPart(ctx, in); return err }); err != nil {
				return err
			}
			s.sent.Add(length)
			sent[i] = types.CompletedPart{PartNumber: &n, ETag: out.ETag, ChecksumCRC64NVME: out.ChecksumCRC64NVME}
			return verified(f, off, length, in.ChecksumCRC64NVME, out.ChecksumCRC64NVME, out.ETag)
		})
	}
	return sent, all.Wait()
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
	return s.same(f, newObject(out.ContentLength, out.ETag, out.ChecksumCRC64NVME))
}

// same reports whether the object is shown to have the file's content. It is shown by the checksum
// of the whole content, or by an ETag that is an MD5. Most stores make it of an object that was put
// as a whole.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html
func (s *store) same(f *file, o *object) (bool, error) {
	size := f.info.Size()
	switch {
	case o.size != size:
		return false, nil
	case o.crc64 != nil:
		sum, err := f.crc64(0, size)
		return *sum == *o.crc64, err
	case strings.Contains(o.etag, "-"): // of parts
		return false, nil
	}
	sum, err := f.sum(md5.New(), 0, size)
	return hex.EncodeToString(sum) == o.etag, err
}

// sum returns the checksum that goes with n bytes of the file from off, as one of the two. (The SDK would
// add it behind the body if the connection is encrypted, in a form that older stores take for content.)
func (s *store) sum(f *file, off, n int64) (crc, contentMD5 *string, err error) {
	if s.Checksum == md5Only {
		sum, err := f.sum(md5.New(), off, n)
		return nil, aws.String(base64.StdEncoding.EncodeToString(sum)), err
	}
	crc, err = f.crc64(off, n)
	return crc, nil, err
}

// sizeOfParts is the size of the parts of a file.
func (s *store) sizeOfParts(size int64) int64 { return max(s.PartSize, size/partsMost+1) }

// raceKey is the key of a *atomic.Bool in the contexts of the two requests of an attempt: one request is done.
type raceKey struct{}

// twice is once with a backup. The requests of both are attempts of the limiter, and Do sends them again.
func twice(l *aimd.Limiter, once func(context.Context, whole) (*s3.PutObjectOutput, error)) func(context.Context, whole) (*s3.PutObjectOutput, error) {
	backed := aimd.BackupValue(l, func(ctx context.Context, w whole) (*s3.PutObjectOutput, error) {
		out, err := once(ctx, w)
		if done, ok := ctx.Value(raceKey{}).(*atomic.Bool); ok && err == nil {
			done.Store(true)
		}
		return out, err
	})
	return func(ctx context.Context, w whole) (*s3.PutObjectOutput, error) {
		out, err := aimd.Do(ctx, l, func(ctx context.Context) (*s3.PutObjectOutput, error) {
			return backed(context.WithValue(ctx, raceKey{}, new(atomic.Bool)), w)
		})
		var story *attempt.Error
		if errors.As(err, &story) && story.Reason == nil {
			err = story.Cause // as without a backup
		}
		return out, err
	}
}

// lost reports whether the other request of an attempt was sooner: the store has the file.
func lost(request context.Context) bool {
	done, ok := request.Value(raceKey{}).(*atomic.Bool)
	return ok && done.Load()
}
