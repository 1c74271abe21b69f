package bucket

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

const (
	// dense is how many of the keys that were looked for a page must cover for
	// the next page to be worth its while. Our choice: a page costs about as much
	// as a few requests for one object each.
	dense = 8
	// sparseRun is how many keys are left to be asked for one by one after a page that
	// covered too few.
	sparseRun = 64
)

// Finder looks objects up in listings of the bucket, read page by page beside a
// walk in the same order, so that a thousand objects cost one request and
// nothing has to be kept. Where the bucket has many objects between those that
// are looked for it gives up listing, and leaves them to be asked for one by one.
// It is for one goroutine.
type Finder struct {
	b      *Bucket
	prefix string

	// page is what is left of the page, of so many objects.
	page    []types.Object
	objects int
	// from and to: the page tells of all keys after from, up to and with to.
	from, to string
	// end: to is the end of the bucket.
	end bool
	// begun: there is a page.
	begun bool
	// covered is how many keys the page told of, sparse how many are still to be
	// left alone.
	covered, sparse int
	// last is the key that was looked for last.
	last string
	// blind: the listing is not in order, as of some stores, or a page has no end.
	// It tells nothing.
	blind bool
	// encoded: keys of the page came as in a URL, as was asked for.
	encoded bool
}

// Finder returns a finder for keys with the prefix.
func (b *Bucket) Finder(prefix string) *Finder { return &Finder{b: b, prefix: prefix} }

// Find tells of the object with the key, nil if there is none. It reports false if
// it does not know: ask for the object then. Keys must come in ascending order.
func (f *Finder) Find(ctx context.Context, key string) (o *Object, known bool, err error) {
	if f.blind || key < f.last {
		return nil, false, nil
	}
	before := f.last
	f.last = key
	if f.sparse > 0 {
		f.sparse--
		return nil, false, nil
	}
	for !f.begun || key > f.to && !f.end {
		if f.begun && f.covered < min(dense, f.objects) {
			f.begun, f.sparse = false, sparseRun-1
			return nil, false, nil
		}
		// All up to the last key that was looked for may be left out.
		if err := f.next(ctx, max(before, f.to)); err != nil || f.blind {
			return nil, false, err
		}
	}
	if key <= f.from || !f.encoded && unspeakable(key) {
		return nil, false, nil
	}
	f.covered++
	for len(f.page) > 0 && *f.page[0].Key < key {
		f.page = f.page[1:]
	}
	if len(f.page) == 0 || *f.page[0].Key != key {
		return nil, true, nil
	}
	return &Object{Size: aws.ToInt64(f.page[0].Size), ETag: aws.ToString(f.page[0].ETag)}, true, nil
}

// next gets the page of the keys after from.
func (f *Finder) next(ctx context.Context, from string) error {
	in := &s3.ListObjectsV2Input{Bucket: &f.b.Name, Prefix: &f.prefix, EncodingType: types.EncodingTypeUrl}
	if from != "" {
		in.StartAfter = &from
	}
	out, err := f.b.Client.ListObjectsV2(ctx, in)
	if errors.Is(err, errLongAnswer) {
		f.blind = true
		return nil
	}
	if err != nil {
		return err
	}
	f.page, f.objects, f.from, f.covered, f.begun = out.Contents, len(out.Contents), from, 0, true
	f.end, f.encoded = !aws.ToBool(out.IsTruncated), out.EncodingType == types.EncodingTypeUrl
	for i := range f.page {
		o := &f.page[i]
		key := aws.ToString(o.Key)
		if f.encoded {
			if key, err = url.QueryUnescape(key); err != nil {
				f.blind = true
				return nil
			}
		}
		o.Key = &key
		if key <= from {
			f.blind = true // out of order, or over and over the same
			return nil
		}
		from = key
	}
	f.to = from
	if len(f.page) == 0 {
		f.end = true
	}
	return nil
}

// unspeakable reports whether the key has characters that XML cannot have, or that
// get lost on the way.
func unspeakable(key string) bool {
	return strings.ContainsFunc(key, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r == 0xfffd || r == 0xfffe || r == 0xffff
	})
}
