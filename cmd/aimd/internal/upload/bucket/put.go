package bucket

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"path"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/local"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
)

// Put uploads the file in one request. When it returns nil, the store has it.
func (b *Bucket) Put(ctx context.Context, key string, f *local.File) error {
	sent, err := b.digest(f, 0, f.Size())
	if err != nil {
		return err
	}
	if err := f.Unchanged(); err != nil {
		return err
	}
	in := &s3.PutObjectInput{
		Bucket: &b.Name, Key: &key, Body: f.Section(0, f.Size()), ContentLength: aws.Int64(f.Size()), ContentType: contentType(key),
	}
	in.ChecksumCRC64NVME, in.ChecksumCRC32C, in.ChecksumCRC32, in.ContentMD5 = sent.headers()
	carrying, t := transferring(ctx, false)
	defer t.end()
	out, err := b.Client.PutObject(carrying, in)
	if err != nil {
		return b.confirmed(ctx, key, f, err)
	}
	if err := sent.verify(b, answer{out.ChecksumCRC64NVME, out.ChecksumCRC32C, out.ChecksumCRC32, out.ETag}); err != nil {
		return err
	}
	return f.Unchanged()
}

// confirmed asks the store after an error that does not tell whether it has the
// object; if it does, all is well.
func (b *Bucket) confirmed(ctx context.Context, key string, f *local.File, err error) error {
	if !ambiguous(ctx, err) {
		return err
	}
	if has, hasErr := b.Has(ctx, key, f, nil); has && hasErr == nil {
		return f.Unchanged()
	}
	return err
}

// digest is the checksum of what is sent in one request.
type digest struct {
	f      *local.File
	off, n int64
	// algorithm and sum are what goes along; algorithm is nil for MD5.
	algorithm *sum.Algorithm
	sum       []byte
	// md5 is nil until it is needed.
	md5 []byte
}

func (b *Bucket) digest(f *local.File, off, n int64) (d *digest, err error) {
	d = &digest{f: f, off: off, n: n, algorithm: b.Checksum}
	if b.Checksum == nil {
		err = d.addMD5()
	} else {
		d.sum, err = f.Sum(b.Checksum, off, n)
	}
	return d, err
}

func (d *digest) addMD5() (err error) {
	if d.md5 == nil {
		d.md5, err = d.f.MD5(d.off, d.n)
	}
	return err
}

// headers are the values that go along: one of them, the others nil. With one
// of them the SDK computes none of its own.
func (d *digest) headers() (crc64nvme, crc32c, crc32, md5 *string) {
	value := aws.String(base64.StdEncoding.EncodeToString(d.sum))
	switch d.algorithm {
	case sum.CRC64NVME:
		return value, nil, nil, nil
	case sum.CRC32C:
		return nil, value, nil, nil
	case sum.CRC32:
		return nil, nil, value, nil
	}
	return nil, nil, nil, aws.String(base64.StdEncoding.EncodeToString(d.md5))
}

// answer is what the store says it has.
type answer struct{ crc64nvme, crc32c, crc32, etag *string }

func (x answer) checksum(a *sum.Algorithm) string {
	switch a {
	case sum.CRC64NVME:
		return aws.ToString(x.crc64nvme)
	case sum.CRC32C:
		return aws.ToString(x.crc32c)
	case sum.CRC32:
		return aws.ToString(x.crc32)
	}
	return ""
}

// errUnverified is what an upload ends with if the store does not tell what it has.
var errUnverified = errors.New("the store took it, but answered neither with a checksum nor with an MD5 as ETag: not verified")

// verify compares what was sent with what the store has: by the checksum, or by
// the ETag if the store answers with none.
func (d *digest) verify(b *Bucket, x answer) error {
	if got := x.checksum(d.algorithm); got != "" {
		if want := base64.StdEncoding.EncodeToString(d.sum); got != want {
			return fmt.Errorf("the store has something else: its %s is %s, that of the file %s", d.algorithm.Name, got, want)
		}
		return nil
	}
	b.unverified()
	etag, whole, _ := sum.ETag(aws.ToString(x.etag))
	if !whole {
		return errUnverified
	}
	if err := d.addMD5(); err != nil {
		return err
	}
	if want := hex.EncodeToString(d.md5); etag != want {
		return fmt.Errorf("the store has something else: its ETag is %s, the MD5 of the file %s", etag, want)
	}
	return nil
}

func contentType(key string) *string {
	if t := mime.TypeByExtension(path.Ext(key)); t != "" {
		return &t
	}
	return nil
}
