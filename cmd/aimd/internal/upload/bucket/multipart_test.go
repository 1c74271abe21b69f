package bucket

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
)

// checking is a store that knows checksums, as far as a multipart upload goes.
type checking struct {
	mu    sync.Mutex
	parts map[string]string
	// claims is what it says the checksum of the whole is; "": what it is.
	claims string
	// silent: it says nothing of the whole. size is that of HEAD.
	silent  bool
	size    int
	aborted int
	// late is how many aborts meet a part that comes after them; denial is the answer
	// to all.
	late, denial int
	// parting is called when all of a part has come, before the answer.
	parting func()
	header  http.Header
}

func (c *checking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := r.URL.Query()
	switch {
	case q.Has("uploads"):
		c.header = r.Header.Clone()
		_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>id</UploadId></InitiateMultipartUploadResult>")
	case q.Has("partNumber"):
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return // cut off
		}
		if c.parting != nil {
			c.parting()
		}
		c.parts[q.Get("partNumber")] = string(b)
		w.Header().Set("ETag", `"of a kind of its own"`)
		w.Header().Set("X-Amz-Checksum-Crc64nvme", crc(sum.CRC64NVME, string(b)))
	case r.Method == http.MethodPost:
		out := struct {
			XMLName           xml.Name `xml:"CompleteMultipartUploadResult"`
			ETag              string
			ChecksumCRC64NVME string `xml:",omitempty"`
		}{ETag: `"whatever"`, ChecksumCRC64NVME: c.claims}
		if c.claims == "" && !c.silent {
			out.ChecksumCRC64NVME = crc(sum.CRC64NVME, c.whole())
		}
		_ = xml.NewEncoder(w).Encode(out)
	case r.Method == http.MethodDelete:
		c.aborted++
		c.parts = map[string]string{}
		w.WriteHeader(cmp.Or(c.denial, http.StatusNoContent))
	case r.Method == http.MethodGet && c.aborted <= c.late:
		_, _ = io.WriteString(w, "<ListPartsResult></ListPartsResult>")
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodHead:
		w.Header().Set("Content-Length", fmt.Sprint(c.size))
	}
}

func (c *checking) whole() (s string) {
	for i := range len(c.parts) {
		s += c.parts[fmt.Sprint(i+1)]
	}
	return s
}

func inParts(size int64) Parts {
	return Parts{Size: size, Enter: func(ctx context.Context) error { return ctx.Err() }, Leave: func() {}}
}

func TestPutParts(t *testing.T) {
	content := strings.Repeat("0123456789", 105)
	for name, c := range map[string]struct {
		store *checking
		want  string
	}{
		"the checksum":              {&checking{}, ""},
		"another checksum":          {&checking{claims: crc(sum.CRC64NVME, "x")}, "the store has something else"},
		"no checksum, the size":     {&checking{silent: true, size: len(content)}, ""},
		"no checksum, another size": {&checking{silent: true, size: 7}, "7 bytes, the file has 1050"},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.store
			s.parts = map[string]string{}
			err := bucketAt(t, s.ServeHTTP).PutParts(t.Context(), "k", open(t, content), inParts(100))
			if s.aborted == 0 {
				assert.Equal(t, content, s.whole())
			}
			assert.Equal(t, []string{"CRC64NVME", "FULL_OBJECT", "100"}, []string{
				s.header.Get("X-Amz-Checksum-Algorithm"), s.header.Get("X-Amz-Checksum-Type"), s.header.Get("X-Amz-Meta-Aimd-Part-Size"),
			})
			if c.want == "" {
				require.NoError(t, err)
				assert.Zero(t, s.aborted)
				return
			}
			require.ErrorContains(t, err, c.want)
			assert.Equal(t, 1, s.aborted)
		})
	}
}

// What began is aborted although nobody waits for the upload any more, as often as
// it takes; and what was sent as a whole before that, so that it cannot come later.
func TestPutPartsIsAbortedAfterTheContextEnds(t *testing.T) {
	why := errors.New("why")
	for _, late := range []int{0, 3} {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := checking{parts: map[string]string{}, late: late}
		s.parting = func() {
			assert.Zero(t, s.aborted, "the abort waits for the answer")
			cancel(why)
		}
		b := bucketAt(t, s.ServeHTTP)
		err := b.PutParts(ctx, "k", open(t, strings.Repeat("x", 1000)), inParts(100))
		require.Equal(t, why, err)
		assert.Equal(t, late+1, s.aborted)
		assert.Empty(t, s.parts)
		assert.Empty(t, b.Open())
		assert.True(t, b.InParts())
	}
}

func TestPartsThatCannotBeRemovedAreNamed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := checking{parts: map[string]string{}, denial: http.StatusForbidden, parting: cancel}
	err := bucketAt(t, s.ServeHTTP).PutParts(ctx, "k", open(t, strings.Repeat("x", 1000)), inParts(100))
	var left Left
	require.ErrorAs(t, err, &left)
	assert.Equal(t, Incomplete{"k", "id"}, left.Incomplete)
	require.ErrorIs(t, err, context.Canceled)
	assert.ErrorContains(t, err, "; parts of it may be left in the store (upload id): ")
}

// The bytes of an attempt that fails do not count, nor those of what is cut off.
func TestBytesCountAsTheyGo(t *testing.T) {
	const size = 40 << 20 // more than what is buffered on the way
	var sent atomic.Int64
	sending := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ctx, attempts := Follow(ctx, func(n int64) {
		if sent.Add(n) > 1<<20 && n > 0 {
			select {
			case <-sending:
			default:
				close(sending)
			}
		}
	})
	gone := make(chan struct{})
	var others checking
	b := bucketAt(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPut {
			others.ServeHTTP(w, r)
			return
		}
		<-sending
		cancel() // with all of it read up to a few MiB
		n, err := io.Copy(io.Discard, r.Body)
		assert.Error(t, err, "%d bytes", n)
		close(gone)
	})
	err := b.PutParts(ctx, "k", open(t, strings.Repeat("x", size)), inParts(size))
	require.ErrorIs(t, err, context.Canceled)
	<-gone
	assert.Zero(t, sent.Load())
	assert.EqualValues(t, 4, attempts.Load(), "begin, part, abort, list")
}

func TestIncomplete(t *testing.T) {
	b := bucketAt(t, func(w http.ResponseWriter, r *http.Request) {
		assert.True(t, r.URL.Query().Has("uploads"))
		_, _ = io.WriteString(w, `<ListMultipartUploadsResult><EncodingType>url</EncodingType><Upload><Key>p/a+b</Key><UploadId>1</UploadId></Upload>
			<Upload><Key>other</Key><UploadId>2</UploadId></Upload></ListMultipartUploadsResult>`)
	})
	all, err := b.Incomplete(t.Context(), "p/")
	require.NoError(t, err)
	assert.Equal(t, []Incomplete{{"p/a b", "1"}}, all)
}
