package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/aimd-go/aimd/cmd/aimd/internal/reach"
)

// Incomplete is an upload in parts that is neither complete nor aborted: the store
// keeps its parts.
type Incomplete struct {
	Key string `json:"key"`
	ID  string `json:"upload_id"`
}

// opened notes that an upload in parts is under way, until closed is called.
func (b *Bucket) opened(key, id string) (closed func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		b.open = map[string]Incomplete{}
	}
	b.open[id] = Incomplete{key, id}
	b.inParts = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, id)
	}
}

// Open are the uploads in parts that are under way, by key.
func (b *Bucket) Open() []Incomplete {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(maps.Values(b.open), func(x, y Incomplete) int { return strings.Compare(x.Key, y.Key) })
}

// InParts reports whether anything was uploaded in parts.
func (b *Bucket) InParts() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inParts
}

// IncompleteMost is how many uploads Incomplete returns at most: a page of S3's.
const IncompleteMost = 1000

// Incomplete asks the store for uploads under the prefix that are neither complete
// nor aborted, whoever began them.
func (b *Bucket) Incomplete(ctx context.Context, prefix string) ([]Incomplete, error) {
	out, err := b.Client.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{
		Bucket: &b.Name, Prefix: &prefix, MaxUploads: aws.Int32(IncompleteMost), EncodingType: types.EncodingTypeUrl,
	})
	if missing(err) {
		return nil, nil // so some stores answer if there are none
	}
	if err != nil {
		return nil, err
	}
	var all []Incomplete
	for _, u := range out.Uploads {
		key := aws.ToString(u.Key)
		if out.EncodingType == types.EncodingTypeUrl {
			if decoded, err := url.QueryUnescape(key); err == nil {
				key = decoded
			}
		}
		if strings.HasPrefix(key, prefix) { // not every store looks at the prefix
			all = append(all, Incomplete{key, aws.ToString(u.UploadId)})
		}
	}
	return all, nil
}

// Left is the error of a file whose upload in parts is left in the store, or may be.
type Left struct {
	// Err is why the file failed, Why that which keeps its parts from being removed.
	Err, Why error
	Incomplete
}

func (l Left) Error() string {
	return fmt.Sprintf("%v; parts of it may be left in the store (upload %s): %v", l.Err, cmp.Or(l.ID, "unknown"), l.Why)
}

func (l Left) Unwrap() []error { return []error{l.Err, l.Why} }

// abortPause is how long after an abort that left parts there is another; then
// twice as long, and so on.
const abortPause = 20 * time.Millisecond

// errPartsLeft is why an abort is not enough.
var errPartsLeft = errors.New("the store has parts of it after an abort")

// abort has the store forget the parts, even if the context has ended. It returns
// the error that led here, and what else went wrong.
func (m *multipart) abort(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastingTime)
	defer cancel()
	why := m.forget(ctx)
	for pause := abortPause; why != nil && !final(why) && wait(ctx, pause); pause *= 2 {
		why = m.forget(ctx)
	}
	if why == nil && m.unanswered.Load() > 0 {
		why = fmt.Errorf("%d parts got no answer", m.unanswered.Load())
	}
	if why == nil {
		return err
	}
	return Left{err, why, Incomplete{m.key, aws.ToString(m.id)}}
}

// forget aborts the upload once, and asks whether it is gone. A part that was in
// service meanwhile may have come after the abort, so that one is not enough:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html
func (m *multipart) forget(ctx context.Context) error {
	_, err := m.b.Client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &m.b.Name, Key: &m.key, UploadId: m.id})
	if err != nil && !missing(err) {
		return err
	}
	_, err = m.b.Client.ListParts(ctx, &s3.ListPartsInput{Bucket: &m.b.Name, Key: &m.key, UploadId: m.id, MaxParts: aws.Int32(1)})
	switch {
	case err == nil:
		return errPartsLeft
	case missing(err), final(err): // final: the credentials do not allow it, or the store does not know it
		return nil
	}
	return err
}

// final reports whether the store says no to the request for good.
func final(err error) bool {
	return reach.Status(err) >= 400 && reach.Status(err) < 500 || reach.Status(err) == http.StatusNotImplemented
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
