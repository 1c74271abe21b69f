package bucket

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/local"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
)

const (
	// partsMost is S3's: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
	partsMost = 10_000
	// partUnit is what part sizes are rounded up to when they grow.
	partUnit = 1 << 20
	// lastingTime bounds what goes on though the context has ended. A user waits
	// for it.
	lastingTime = 10 * time.Second
)

// PartSize is the size of the parts of an object: the one that is wished for, or
// more if there would be too many parts.
func PartSize(size, wish int64) int64 {
	least := (size + partsMost - 1) / partsMost
	if least <= wish {
		return wish
	}
	return (least + partUnit - 1) / partUnit * partUnit
}

// Parts is how an object is uploaded in parts.
type Parts struct {
	// Size of each but the last.
	Size int64
	// Enter waits until one more part may be begun, Leave is called when one has ended.
	Enter func(context.Context) error
	Leave func()
}

// PutParts uploads the file in parts, each a request of its own. When it returns
// nil, the store has it; otherwise nothing is left there but what a Left tells of.
func (b *Bucket) PutParts(ctx context.Context, key string, f *local.File, p Parts) error {
	in := &s3.CreateMultipartUploadInput{
		Bucket: &b.Name, Key: &key, ContentType: contentType(key),
		Metadata: map[string]string{partSizeKey: strconv.FormatInt(p.Size, 10)},
	}
	if b.Checksum != nil {
		in.ChecksumAlgorithm, in.ChecksumType = types.ChecksumAlgorithm(b.Checksum.Name), types.ChecksumTypeFullObject
	}
	// One that was begun without our knowing its name could not be aborted.
	lasting, cancel := Outlast(ctx, lastingTime)
	defer cancel()
	out, err := b.Client.CreateMultipartUpload(lasting, in)
	if err != nil && ctx.Err() != nil && reach.Status(err) == 0 {
		return Left{context.Cause(ctx), err, Incomplete{Key: key}}
	}
	if err != nil {
		return err
	}
	defer b.opened(key, aws.ToString(out.UploadId))()
	m := &multipart{b: b, key: key, f: f, parts: p, id: out.UploadId, digests: make([]*digest, (f.Size()+p.Size-1)/p.Size)}
	m.done = make([]types.CompletedPart, len(m.digests))
	if err = m.send(ctx); err == nil {
		err = f.Unchanged()
	}
	if err == nil {
		if err = m.complete(ctx); err == nil {
			return f.Unchanged()
		}
	}
	return m.abort(ctx, err)
}

type multipart struct {
	b     *Bucket
	key   string
	f     *local.File
	parts Parts
	id    *string
	// digests and done are of each part. Each is written by the part's own
	// goroutine, and read when all have ended.
	digests []*digest
	done    []types.CompletedPart
	// unanswered is how many parts the store may still be about to keep.
	unanswered atomic.Int64
}

// send sends all parts. The first that fails stops the others.
func (m *multipart) send(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var wg sync.WaitGroup
	for i := range m.done {
		if m.parts.Enter(ctx) != nil {
			break // the context tells why
		}
		wg.Go(func() {
			defer m.parts.Leave()
			if err := m.part(ctx, i); err != nil {
				fail(fmt.Errorf("part %d of %d: %w", i+1, len(m.done), err))
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (m *multipart) part(ctx context.Context, i int) error {
	off := int64(i) * m.parts.Size
	n := min(m.parts.Size, m.f.Size()-off)
	d, err := m.b.digest(m.f, off, n)
	if err != nil {
		return err
	}
	number := aws.Int32(int32(i + 1))
	in := &s3.UploadPartInput{
		Bucket: &m.b.Name, Key: &m.key, UploadId: m.id, PartNumber: number,
		Body: m.f.Section(off, n), ContentLength: aws.Int64(n),
	}
	in.ChecksumCRC64NVME, in.ChecksumCRC32C, in.ChecksumCRC32, in.ContentMD5 = d.headers()
	carrying, t := transferring(ctx, true)
	defer t.end()
	out, err := m.b.Client.UploadPart(carrying, in)
	if err != nil {
		if t.unanswered {
			m.unanswered.Add(1)
		}
		return err
	}
	if err := d.verify(m.b, answer{out.ChecksumCRC64NVME, out.ChecksumCRC32C, out.ChecksumCRC32, out.ETag}); err != nil {
		return err
	}
	m.digests[i] = d
	m.done[i] = types.CompletedPart{
		PartNumber: number, ETag: out.ETag,
		ChecksumCRC64NVME: in.ChecksumCRC64NVME, ChecksumCRC32C: in.ChecksumCRC32C, ChecksumCRC32: in.ChecksumCRC32,
	}
	return nil
}

// whole is the digest of the file, from those of the parts.
func (m *multipart) whole() *digest {
	d := &digest{f: m.f, n: m.f.Size(), algorithm: m.b.Checksum}
	if d.algorithm != nil {
		d.sum = m.digests[0].sum
		for _, part := range m.digests[1:] {
			d.sum = d.algorithm.Combine(d.sum, part.sum, part.n)
		}
	}
	return d
}

func (m *multipart) complete(ctx context.Context) error {
	whole := m.whole()
	in := &s3.CompleteMultipartUploadInput{
		Bucket: &m.b.Name, Key: &m.key, UploadId: m.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: m.done},
	}
	if whole.algorithm != nil {
		in.ChecksumCRC64NVME, in.ChecksumCRC32C, in.ChecksumCRC32, _ = whole.headers()
		in.ChecksumType = types.ChecksumTypeFullObject
	}
	lasting, cancel := Outlast(ctx, lastingTime)
	defer cancel()
	out, err := m.b.Client.CompleteMultipartUpload(lasting, in)
	if err != nil {
		return m.b.confirmed(ctx, m.key, m.f, err)
	}
	x := answer{out.ChecksumCRC64NVME, out.ChecksumCRC32C, out.ChecksumCRC32, out.ETag}
	if x.checksum(whole.algorithm) != "" && out.ChecksumType != types.ChecksumTypeComposite {
		return whole.verify(m.b, x)
	}
	return m.compare(ctx, aws.ToString(out.ETag))
}

// compare is for a store that does not answer with a checksum of the whole. Each
// part was verified by itself, so what is left is whether all are there, in order:
// the ETag tells if it is made from the parts' MD5s, else the size must do.
func (m *multipart) compare(ctx context.Context, etag string) error {
	var md5s [][]byte
	for _, d := range m.digests {
		if d.md5 != nil {
			md5s = append(md5s, d.md5)
		}
	}
	if got, _, parts := sum.ETag(etag); parts && len(md5s) == len(m.digests) && got == sum.PartsETag(md5s) {
		return nil
	}
	o, err := m.b.Head(ctx, m.key)
	switch {
	case err != nil:
		return fmt.Errorf("asking for what was uploaded: %w", err)
	case o == nil:
		return errors.New("the store does not have what it said it took")
	case o.Size != m.f.Size():
		return fmt.Errorf("the store has something else: %d bytes, the file has %d", o.Size, m.f.Size())
	}
	return nil
}

// Outlast is a context that ends some time after the given one, for what is better
// not cut off.
func Outlast(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(by, cancel)
		context.AfterFunc(lasting, func() { t.Stop() })
	})
	return lasting, func() {
		stop()
		cancel()
	}
}
