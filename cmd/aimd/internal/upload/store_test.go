package upload

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/minio/crc64nvme"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"
	"golang.org/x/sync/semaphore"
)

// storeAt is a store that asks the handler, without a limiter.
func storeAt(t *testing.T, handler http.HandlerFunc) *store {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client := s3.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} }, HTTPClient: patient{server.Client()},
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	}, func(o *s3.Options) { o.UsePathStyle = true })
	return &store{Client: client, Config: Config{Bucket: "bucket", PartSize: partLeast}, large: semaphore.NewWeighted(largeAtOnce), room: newRoom()}
}

func opened(t *testing.T, content string) *file {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	f, err := open(path, func(err error) { t.Error(err) })
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func crc(content string) string {
	h := crc64nvme.New()
	_, _ = io.WriteString(h, content)
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

func hexMD5(content string) string { return fmt.Sprintf("%x", md5.Sum([]byte(content))) }

// The store's answer decides whether a file counts as stored, and a checksum goes with
// each request.
func TestPutBelievesTheAnswerOnly(t *testing.T) {
	const content = "content"
	raw := md5.Sum([]byte(content))
	require.Equal(t, "rosUhgp5mIg=", crc("123456789"), "AE8B14860A799888, the check value of CRC-64/NVME in the catalogue of CRCs by Greg Cook")
	for name, c := range map[string]struct {
		header, value string
		want          string
		md5           bool
	}{
		"a checksum":          {"X-Amz-Checksum-Crc64nvme", crc(content), "", false},
		"the MD5":             {"ETag", `"` + hexMD5(content) + `"`, "", false},
		"the MD5, asked for":  {"ETag", `"` + hexMD5(content) + `"`, "", true},
		"another MD5":         {"ETag", `"` + hexMD5("other") + `"`, "not verified: ", false},
		"an ETag of no use":   {"ETag", `"abc"`, `not verified: the store answers with no checksum, and its ETag "abc" is not the MD5 of what was sent`, false},
		"nothing, but a size": {"X-Nothing", "", "not verified", false},
	} {
		t.Run(name, func(t *testing.T) {
			var got http.Header
			s := storeAt(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPut { // and not the question whether the store has it after all
					got = r.Header
				}
				w.Header().Set(c.header, c.value)
			})
			sums := map[string]string{"X-Amz-Checksum-Crc64nvme": crc(content), "Content-Md5": ""}
			if c.md5 {
				s.Checksum, sums = md5Only, map[string]string{"X-Amz-Checksum-Crc64nvme": "", "Content-Md5": base64.StdEncoding.EncodeToString(raw[:])}
			}
			err := s.put(t.Context(), "k.html", opened(t, content))
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
			for header, want := range sums {
				assert.Equal(t, want, got.Get(header), header)
			}
			assert.Contains(t, got.Get("Content-Type"), "text/html")
		})
	}
}

func TestHas(t *testing.T) {
	content := strings.Repeat("0123456789", partLeast/10+7)
	size := int64(len(content))
	whole, other := `"`+hexMD5(content)+`"`, `"`+hexMD5("x")+`"`
	listed := func(etag string, size int64) *object { return newObject(&size, &etag, nil) }
	for name, c := range map[string]struct {
		found *object
		head  map[string]string
		want  bool
		asks  int
	}{
		"nothing known, nothing there":        {nil, nil, false, 1},
		"listed with the MD5":                 {listed(whole, size), nil, true, 0},
		"listed with another size":            {listed(whole, 999), nil, false, 0},
		"listed with another MD5":             {listed(other, size), map[string]string{"ETag": other}, false, 1},
		"an MD5 that is none, and a checksum": {listed(other, size), map[string]string{"ETag": other, "X-Amz-Checksum-Crc64nvme": crc(content)}, true, 1},
		"another checksum":                    {nil, map[string]string{"ETag": whole, "X-Amz-Checksum-Crc64nvme": crc("x")}, false, 1},
		"parts":                               {listed(`"abc-2"`, size), map[string]string{"ETag": `"abc-2"`}, false, 1},
		"parts, and a checksum":               {listed(`"abc-2"`, size), map[string]string{"ETag": `"abc-2"`, "X-Amz-Checksum-Crc64nvme": crc(content)}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			asks := 0
			s := storeAt(t, func(w http.ResponseWriter, r *http.Request) {
				asks++
				assert.Equal(t, http.MethodHead, r.Method)
				if c.head == nil {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				w.Header().Set("Content-Length", fmt.Sprint(size))
				for k, v := range c.head {
					w.Header().Set(k, v)
				}
			})
			got, err := s.has(t.Context(), "k", opened(t, content), c.found)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.asks, asks)
		})
	}
}

func TestSizeOfParts(t *testing.T) {
	const mib = 1 << 20
	for _, c := range [][3]int64{
		{100 * mib, 8 * mib, 8 * mib}, {10_000*8*mib - 1, 8 * mib, 8 * mib}, {10_000*8*mib + 1, 8 * mib, 8*mib + 1}, {5 << 40, 8 * mib, 5<<40/10_000 + 1},
	} {
		got := (&store{Config: Config{PartSize: c[1]}}).sizeOfParts(c[0])
		assert.Equal(t, c[2], got, c)
		assert.LessOrEqual(t, (c[0]+got-1)/got, int64(partsMost))
	}
}

// An upload is aborted although its context has ended. A part that was sent as a whole is waited for first, so
// that it cannot come later.
func TestPartsAreRemovedAfterTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var aborts atomic.Int32
	s := storeAt(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case q.Has("uploads"):
			assert.Equal(t, "CRC64NVME", r.Header.Get("X-Amz-Checksum-Algorithm"))
			_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>")
		case q.Has("partNumber"):
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				cancel()
				assert.NoError(t, r.Context().Err(), "the answer is waited for")
				assert.Zero(t, aborts.Load())
			}
		case r.Method == http.MethodDelete:
			aborts.Inc()
			w.WriteHeader(http.StatusNoContent)
		}
	})
	require.Error(t, s.put(ctx, "k", opened(t, strings.Repeat("x", 2*partLeast))))
	assert.EqualValues(t, 1, aborts.Load())
}

// A store without checksums must answer each part with its MD5, or the file fails.
func TestEachPartIsVerified(t *testing.T) {
	for wrong, want := range map[string]string{"": "", "2": "not verified: the store answers with no checksum"} {
		aborts := atomic.NewInt32(0)
		s := storeAt(t, func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			switch part := q.Get("partNumber"); {
			case q.Has("uploads"):
				_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>")
			case part != "":
				content, _ := io.ReadAll(r.Body)
				if part == wrong {
					content = nil
				}
				w.Header().Set("ETag", `"`+hexMD5(string(content))+`"`)
			case r.Method == http.MethodDelete:
				aborts.Inc()
				w.WriteHeader(http.StatusNoContent)
			case r.Method == http.MethodHead:
				w.WriteHeader(http.StatusNotFound)
			default:
				_, _ = io.WriteString(w, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
			}
		})
		err := s.put(t.Context(), "k", opened(t, strings.Repeat("x", 2*partLeast)))
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
		assert.Equal(t, want != "", aborts.Load() == 1)
	}
}

// A request that changes the store is given some time for its answer, any other is cut off.
func TestPatience(t *testing.T) {
	for method, want := range map[string]time.Duration{http.MethodPut: patience, http.MethodDelete: patience, http.MethodGet: 0} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, method, "http://store", nil)
			require.NoError(t, err)
			cancel()
			began := time.Now()
			_, err = patient{asked(func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			})}.Do(r)
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, want, time.Since(began), method)
		})
	}
}

type asked func(*http.Request) (*http.Response, error)

func (a asked) Do(r *http.Request) (*http.Response, error) { return a(r) }

// listed is a bucket that lists these keys, in pages of ten; each object's size is its place.
func listed(keys []string, pages *int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		*pages++
		page, n, more := "", 0, false
		for i, k := range keys {
			if k <= r.URL.Query().Get("start-after") {
				continue
			}
			if more = n == 10; more {
				break
			}
			n++
			page += fmt.Sprintf("<Contents><Key>%s</Key><Size>%d</Size></Contents>", url.QueryEscape(k), i)
		}
		fmt.Fprintf(w, "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>%t</IsTruncated>%s</ListBucketResult>", more, page)
	}
}

// A listing is read page by page. With very many objects between the files it is not read
// from end to end, and if it is out of order it is not trusted.
func TestListing(t *testing.T) {
	numbers := func(n int) (keys []string, sizes []int) {
		for i := range n {
			keys, sizes = append(keys, fmt.Sprintf("%04d", i)), append(sizes, i)
		}
		return keys, sizes
	}
	few, sizes := numbers(35)
	many, _ := numbers(10_000)
	odd := []string{"\x01", " ", "%41", "+", "a\nb", "é"}
	const absent, unknown = -1, -2
	for name, c := range map[string]struct {
		bucket, keys []string
		want         []int
		pages        int
	}{
		"page by page": {few, append(few, "9999"), append(sizes, absent), 4},
		"between":      {[]string{"b", "d", "d/x"}, []string{"a", "b", "c", "d", "d/x", "e", "f"}, []int{absent, 0, absent, 1, 2, absent, absent}, 1},
		"empty":        {nil, []string{"a", "b"}, []int{absent, absent}, 1},
		"gaps":         {many, []string{"0000", "0001", "7000", "7001", "9999"}, []int{0, 1, 7000, 7001, 9999}, 3},
		"out of order": {[]string{"b", "a", "c"}, []string{"a", "b", "c"}, []int{unknown, unknown, unknown}, 1},
		"odd keys":     {odd, odd, []int{0, 1, 2, 3, 4, 5}, 1},
	} {
		pages := 0
		found := &listing{store: storeAt(t, listed(c.bucket, &pages))}
		for i, k := range c.keys {
			o, err := found.find(t.Context(), k)
			require.NoError(t, err)
			if o == nil {
				o = &object{size: unknown}
			}
			assert.EqualValues(t, c.want[i], o.size, "%s: %q", name, k)
		}
		assert.Equal(t, c.pages, pages, name)
	}
}

// An answer without end, of a store that does not know of pages, does not fill the memory.
func TestAnAnswerWithoutEndIsNotReadToItsEnd(t *testing.T) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://store", nil)
	require.NoError(t, err)
	resp, err := patient{asked(func(*http.Request) (*http.Response, error) {
		return &http.Response{Body: io.NopCloser(endless{})}, nil
	})}.Do(r)
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	assert.EqualValues(t, answerMost, n)
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// The first window is of requests, and their bytes are bounded: ten parts of 16 MiB, which a line of 5 Mbit/s brings within
// --timeout. Each success makes room for another, a failure does not.
func TestTheFirstBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ends := &store{room: newRoom()}, make(chan error)
		began := atomic.NewInt32(0)
		for range 64 {
			go func() {
				_ = s.within(t.Context(), 16<<20, func() error { began.Inc(); return <-ends })
			}()
		}
		for _, end := range []struct {
			err  error
			want int32
		}{{nil, 10}, {nil, 12}, {io.EOF, 14}, {nil, 15}} {
			synctest.Wait()
			assert.Equal(t, end.want, began.Load())
			ends <- end.err
		}
		for range 60 {
			ends <- nil
		}
		require.NoError(t, s.within(t.Context(), 5<<30, func() error { return nil }), "more than all room")
		gone, leave := context.WithCancel(t.Context())
		leave()
		require.ErrorIs(t, (&store{room: semaphore.NewWeighted(1)}).within(gone, 2, nil), context.Canceled)
	})
}
