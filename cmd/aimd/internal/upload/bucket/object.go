package bucket

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
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
	for name, value := range map[string]*string{
		sum.CRC64NVME.Name: out.ChecksumCRC64NVME, sum.CRC32C.Name: out.ChecksumCRC32C, sum.CRC32.Name: out.ChecksumCRC32,
	} {
		// One of the checksums of parts has a dash and their number.
		if s, err := base64.StdEncoding.DecodeString(aws.ToString(value)); err == nil && len(s) > 0 && out.ChecksumType != types.ChecksumTypeComposite {
			o.sums[name] = s
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
