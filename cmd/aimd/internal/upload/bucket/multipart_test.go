package bucket

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
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
		b, _ := io.ReadAll(r.Body)
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
		w.WriteHeader(http.StatusNoContent)
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
	return Parts{Size: size, Enter: func(ctx context.Context) error { return ctx.Err() }, Leave: func() {}, Sent: func(int64) {}}
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
			assert.Equal(t, content, s.whole())
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

// What began is aborted although nobody waits for the upload any more.
func TestPutPartsIsAbortedAfterTheContextEnds(t *testing.T) {
	s := checking{parts: map[string]string{}}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	p := inParts(100)
	p.Sent = func(int64) { cancel(why) }
	err := bucketAt(t, s.ServeHTTP).PutParts(ctx, "k", open(t, strings.Repeat("x", 1000)), p)
	require.ErrorIs(t, err, why)
	assert.Equal(t, 1, s.aborted)
}
