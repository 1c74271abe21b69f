package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/aimd-go/aimd/cmd/aimd/internal/demo/s3/store"
)

// place is where one strategy's objects go: empty at first, and its own.
type place struct {
	config         aws.Config
	bucket, prefix string
	// peak is the most requests that the store served at a time, by its own count; 0: not known.
	peak func() int
	// clear removes what is left behind.
	clear func() error
}

func (p *place) key(i int) string { return p.prefix + name(i) }

// put uploads object i, once as far as this function goes: retries are the client's.
func (p *place) put(ctx context.Context, client *s3.Client, i int, body []byte) error {
	_, err := client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &p.bucket, Key: aws.String(p.key(i)), Body: bytes.NewReader(body),
	})
	return err
}

// pathStyle is the form of URL that every server understands without DNS.
func pathStyle(o *s3.Options) { o.UsePathStyle = true }

// steward is a client of its own for what is not measured, one that is patient.
func (p *place) steward() *s3.Client {
	config := p.config.Copy()
	config.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = 10
			o.MaxBackoff = time.Second
		})
	}
	// The check compares contents itself: a wrong content is a result, no error.
	config.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	return s3.NewFromConfig(config, pathStyle)
}

type listed struct {
	key, etag string
	size      int64
}

func (p *place) list(ctx context.Context) ([]listed, error) {
	var all []listed
	pages := s3.NewListObjectsV2Paginator(p.steward(), &s3.ListObjectsV2Input{Bucket: &p.bucket, Prefix: &p.prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, o := range page.Contents {
			all = append(all, listed{aws.ToString(o.Key), strings.Trim(aws.ToString(o.ETag), `"`), aws.ToInt64(o.Size)})
		}
	}
	return all, nil
}

// stored reports for each object whether the store has it with the right content. Most
// stores list the MD5 of the content as ETag. If an ETag differs, the content is read.
func (p *place) stored(ctx context.Context, objects int, size int64) ([]bool, error) {
	all, err := p.list(ctx)
	if err != nil {
		return nil, err
	}
	found := make(map[string]listed, len(all))
	for _, o := range all {
		found[o.key] = o
	}
	stored := make([]bool, objects)
	for i := range stored {
		o, ok := found[p.key(i)]
		if !ok || o.size != size {
			continue
		}
		want := content(i, size)
		sum := md5.Sum(want)
		if stored[i] = o.etag == hex.EncodeToString(sum[:]); stored[i] {
			continue
		}
		if stored[i], err = p.holds(ctx, o.key, want); err != nil {
			return nil, err
		}
	}
	return stored, nil
}

func (p *place) holds(ctx context.Context, key string, want []byte) (bool, error) {
	res, err := p.steward().GetObject(ctx, &s3.GetObjectInput{Bucket: &p.bucket, Key: &key})
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", key, err)
	}
	got, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return false, fmt.Errorf("reading %s: %w", key, err)
	}
	return bytes.Equal(got, want), nil
}

// content is the content of object i: the same for every strategy, and
// different for every object, so that a mix-up does not go unseen.
func content(i int, size int64) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(i))
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(seed).Read(b) // never fails
	return b
}

func name(i int) string { return fmt.Sprintf("object-%07d", i) }

// embedded is the store of the demo: a new one, in this process, for each strategy.
type embedded struct{ c Config }

func (embedded) close() error { return nil }

func (e embedded) open(string) (*place, error) {
	s, err := store.Start(store.Config{Slots: e.c.Slots, Service: e.c.Service, Jitter: e.c.Jitter, Bucket: ownBucket})
	if err != nil {
		return nil, err
	}
	return placeIn(s), nil
}

// placeIn is the whole of a store of our own.
func placeIn(s *store.Store) *place {
	return &place{
		config: aws.Config{
			Region:       "us-east-1",
			BaseEndpoint: aws.String(s.URL),
			// The SDK needs credentials, the store does not.
			Credentials: credentials.NewStaticCredentialsProvider("demo", "demo", ""),
		},
		bucket: ownBucket,
		peak:   s.Peak,
		clear:  func() error { s.Close(); return nil },
	}
}
