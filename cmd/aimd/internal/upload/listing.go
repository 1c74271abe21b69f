package upload

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// object is the store's description of an object.
type object struct {
	size int64
	etag string
	// crc64 is the checksum of the whole object; nil: not known.
	crc64 *string
}

func newObject(size *int64, etag, crc64 *string) *object {
	return &object{aws.ToInt64(size), strings.Trim(aws.ToString(etag), `"`), crc64}
}

// listing is a listing of the bucket. It is read page by page in step with a walk in the
// same order, so a thousand objects cost one request. It is for one goroutine.
type listing struct {
	*store
	page []types.Object // the rest of the page
	to   string         // the key that the page ends with
	end  bool           // the page is the last
	last string         // the greatest key that was asked for
	// blind: the store does not list in order, so its listing is not used.
	blind bool
}

// absent is found if the bucket has no object with a key.
var absent = &object{size: -1}

// find returns the object with the key, or absent, or nil if the listing is not used: ask for the object then. It is
// used for keys in ascending order; a list of files may have others.
func (l *listing) find(ctx context.Context, key string) (*object, error) {
	if key < l.last {
		return nil, nil
	}
	l.last = key
	for !l.blind && key > l.to && !l.end {
		// Of the objects before the key, only those that differ in its last character are read.
		_, n := utf8.DecodeLastRuneInString(key)
		if err := l.next(ctx, max(l.to, key[:len(key)-n])); err != nil {
			return nil, err
		}
	}
	for len(l.page) > 0 && *l.page[0].Key < key {
		l.page = l.page[1:]
	}
	switch {
	case l.blind:
		return nil, nil
	case len(l.page) > 0 && *l.page[0].Key == key:
		return newObject(l.page[0].Size, l.page[0].ETag, nil), nil
	}
	return absent, nil
}

// next reads the page of the keys after from.
func (l *listing) next(ctx context.Context, from string) error {
	in := &s3.ListObjectsV2Input{Bucket: &l.Bucket, Prefix: &l.Prefix, EncodingType: types.EncodingTypeUrl}
	if from != "" {
		in.StartAfter = &from
	}
	out, err := l.ListObjectsV2(ctx, in)
	if err != nil {
		return err
	}
	l.page, l.to, l.end = out.Contents, from, !aws.ToBool(out.IsTruncated) || len(out.Contents) == 0
	for i := range l.page {
		key := aws.ToString(l.page[i].Key)
		if decoded, err := url.QueryUnescape(key); err == nil && out.EncodingType == types.EncodingTypeUrl {
			key = decoded
		}
		l.blind = l.blind || key <= l.to // out of order, or again and again the same
		l.page[i].Key, l.to = &key, key
	}
	return nil
}
