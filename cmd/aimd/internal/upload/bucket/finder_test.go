package bucket

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
)

// bucketAt is a bucket that asks the handler.
func bucketAt(t *testing.T, handler http.HandlerFunc) *Bucket {
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	wire := new(Wire)
	client := s3.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(s.URL), Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} }, APIOptions: []func(*middleware.Stack) error{wire.Watch},
	}, func(o *s3.Options) { o.UsePathStyle = true })
	return &Bucket{Client: client, Name: "bucket", Checksum: sum.CRC64NVME, Wire: wire}
}

// listing is a bucket that can be listed, in pages of ten.
type listing struct {
	// keys in the order of the listing; each object's size is its place.
	keys []string
	// encoded: keys are escaped if the client asks for it.
	encoded bool
	pages   int
}

func (l *listing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	type object struct {
		Key  string
		Size int
	}
	var out struct {
		XMLName      xml.Name `xml:"ListBucketResult"`
		Contents     []object
		IsTruncated  bool
		EncodingType string `xml:",omitempty"`
	}
	l.pages++
	q := r.URL.Query()
	encode := l.encoded && q.Get("encoding-type") == "url"
	if encode {
		out.EncodingType = "url"
	}
	for i, k := range l.keys {
		if k <= q.Get("start-after") {
			continue
		}
		if out.IsTruncated = len(out.Contents) == 10; out.IsTruncated {
			break
		}
		if encode {
			k = url.QueryEscape(k)
		}
		out.Contents = append(out.Contents, object{k, i})
	}
	_ = xml.NewEncoder(w).Encode(out)
}

// find looks all the keys up: their sizes, -1 if there is none, -2 if it is not known.
func find(t *testing.T, f *Finder, keys ...string) (sizes []int) {
	for _, k := range keys {
		o, known, err := f.Find(t.Context(), k)
		require.NoError(t, err)
		switch {
		case !known:
			sizes = append(sizes, -2)
		case o == nil:
			sizes = append(sizes, -1)
		default:
			sizes = append(sizes, int(o.Size))
		}
	}
	return sizes
}

func numbered(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("%04d", i))
	}
	return keys
}

func TestFinderReadsPageByPage(t *testing.T) {
	l := &listing{keys: numbered(35), encoded: true}
	f := bucketAt(t, l.ServeHTTP).Finder("")
	for i, size := range find(t, f, l.keys...) {
		require.Equal(t, i, size)
	}
	assert.Equal(t, []int{-1}, find(t, f, "9999"))
	assert.Equal(t, 4, l.pages)
}

func TestFinderTellsWhatIsNotThere(t *testing.T) {
	l := &listing{keys: []string{"b", "d", "d/x"}, encoded: true}
	f := bucketAt(t, l.ServeHTTP).Finder("")
	assert.Equal(t, []int{-1, 0, -1, 1, 2, -1, -1}, find(t, f, "a", "b", "c", "d", "d/x", "e", "f"))
	assert.Equal(t, 1, l.pages)
	empty := &listing{}
	assert.Equal(t, []int{-1, -1}, find(t, bucketAt(t, empty.ServeHTTP).Finder(""), "a", "b"))
	assert.Equal(t, 1, empty.pages)
}

// Few files in a bucket with very many objects: it is not listed from end to end.
func TestFinderLeavesWhatIsFarApart(t *testing.T) {
	l := &listing{keys: numbered(10_000), encoded: true}
	f := bucketAt(t, l.ServeHTTP).Finder("")
	unknown := 0
	for i := 0; i < 10_000; i += 100 {
		k := fmt.Sprintf("%04d", i)
		switch s := find(t, f, k)[0]; s {
		case -2:
			unknown++
		default:
			require.Equal(t, i, s)
		}
	}
	assert.Less(t, l.pages, 10, "of 1000")
	assert.Greater(t, unknown, 90)
}

func TestFinderSkipsGaps(t *testing.T) {
	l := &listing{keys: numbered(10_000), encoded: true}
	f := bucketAt(t, l.ServeHTTP).Finder("")
	for i := 0; i < 100; i++ {
		require.Equal(t, []int{i}, find(t, f, fmt.Sprintf("%04d", i)))
	}
	find(t, f, "7000", "7001")
	assert.LessOrEqual(t, l.pages, 12)
}

func TestFinderDoesNotTrustWhatIsOutOfOrder(t *testing.T) {
	l := &listing{keys: []string{"b", "a", "c"}}
	assert.Equal(t, []int{-2, -2, -2}, find(t, bucketAt(t, l.ServeHTTP).Finder(""), "a", "b", "c"))
	l.keys = []string{"a", "b"}
	assert.Equal(t, []int{1, -2}, find(t, bucketAt(t, l.ServeHTTP).Finder(""), "b", "a"), "nor a walk that goes back")
}

func TestFinderAndOddKeys(t *testing.T) {
	keys := []string{"\x01", "+", " ", "a\nb", "%41", "é"}
	slices.Sort(keys)
	l := &listing{keys: keys, encoded: true}
	assert.Equal(t, []int{0, 1, 2, 3, 4, 5}, find(t, bucketAt(t, l.ServeHTTP).Finder(""), keys...))
	l = &listing{keys: keys[1:]}
	assert.Equal(t, []int{-2, 0, 1, 2, 3, 4}, find(t, bucketAt(t, l.ServeHTTP).Finder(""), keys...), "XML cannot tell of \\x01")
}

func TestFinderTellsErrors(t *testing.T) {
	f := bucketAt(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }).Finder("")
	_, _, err := f.Find(t.Context(), "a")
	require.Error(t, err)
}

// A page without end, of a store that does not know of pages, does not fill the memory.
func TestFinderDoesNotReadAPageWithoutEnd(t *testing.T) {
	var written, pages atomic.Int64
	b := bucketAt(t, func(w http.ResponseWriter, _ *http.Request) {
		pages.Add(1)
		_, err := io.WriteString(w, "<ListBucketResult><Contents><Key>")
		for x := bytes.Repeat([]byte("x"), 1<<20); err == nil && written.Load() < 600<<20; {
			_, err = w.Write(x)
			written.Add(int64(len(x)))
		}
	})
	b.Wire.longest = 1 << 20
	f := b.Finder("")
	assert.Equal(t, []int{-2, -2}, find(t, f, "a", "b"))
	assert.EqualValues(t, 1, pages.Load())
	assert.Less(t, written.Load(), int64(32<<20), "what is read, and what is on the way")
	require.NoError(t, b.Probe(t.Context(), *b.Client.Options().BaseEndpoint, "", true))
}
