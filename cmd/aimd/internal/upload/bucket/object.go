package bucket

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"path"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/local"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
)

// partSizeKey is the metadata of an object that was uploaded in parts: with their
// size, its ETag can be compared where the store keeps no checksums.
const partSizeKey = "aimd-part-size"

// Object is what the store tells of an object.
type Object struct {
	Size int64
	ETag string
	// Asked: the store was asked for this object, not for a listing; all below
	// is known.
	Asked bool
	// sums are the checksums of the whole, by the name of the algorithm.
	sums     map[string][]byte
	partSize int64
}

// Head asks for an object; nil if there is none.
func (b *Bucket) Head(ctx context.Context, key string) (*Object, error) {
	out, err := b.Client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.Name, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := &Object{Size: aws.ToInt64(out.ContentLength), ETag: aws.ToString(out.ETag), Asked: true, sums: map[string][]byte{}}
	x := answer{out.ChecksumCRC64NVME, out.ChecksumCRC32C, out.ChecksumCRC32, out.ETag}
	for _, a := range sum.Algorithms() {
		// One of the checksums of parts has a dash and their number.
		if s, err := base64.StdEncoding.DecodeString(x.checksum(a)); err == nil && len(s) > 0 && out.ChecksumType != types.ChecksumTypeComposite {
			o.sums[a.Name] = s
		}
	}
	o.partSize, _ = strconv.ParseInt(out.Metadata[partSizeKey], 10, 64) // 0: not known
	return o, nil
}

// Holds reports whether the object has the file's content, and whether that can
// be told at all from what is known of it.
func (o *Object) Holds(f *local.File) (same, known bool, err error) {
	if o.Size != f.Size() {
		return false, true, nil
	}
	for _, a := range sum.Algorithms() {
		if want, ok := o.sums[a.Name]; ok {
			got, err := f.Sum(a, 0, f.Size())
			return bytes.Equal(got, want), true, err
		}
	}
	etag, whole, parts := sum.ETag(o.ETag)
	switch {
	case whole:
		// One that differs may be no MD5 at all, as with server-side encryption.
		md5, err := f.MD5(0, f.Size())
		same = hex.EncodeToString(md5) == etag
		return same, same, err
	case parts && o.partSize > 0:
		got, err := f.PartsETag(o.partSize)
		return got == etag, got == etag, err
	}
	return false, false, nil
}

// Has reports whether the store has the file's content under the key. found is
// what a listing tells, nil if it tells nothing.
func (b *Bucket) Has(ctx context.Context, key string, f *local.File, found *Object) (bool, error) {
	if found != nil {
		if same, known, err := found.Holds(f); known || err != nil {
			return same, err
		}
	}
	if found == nil || !found.Asked {
		var err error
		if found, err = b.Head(ctx, key); found == nil || err != nil {
			return false, err
		}
	}
	same, _, err := found.Holds(f)
	return same, err
}

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
	return aws.ToString(map[*sum.Algorithm]*string{sum.CRC64NVME: x.crc64nvme, sum.CRC32C: x.crc32c, sum.CRC32: x.crc32}[a])
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
