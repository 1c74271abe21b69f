package bucket

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/local"
	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
)

func open(t *testing.T, content string) *local.File {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	f, err := local.Open(path, func(err error) { t.Error(err) })
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func crc(a *sum.Algorithm, content string) string {
	h := a.New()
	_, _ = io.WriteString(h, content)
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

func hexMD5(content string) string { return fmt.Sprintf("%x", md5.Sum([]byte(content))) }

// What the store answers decides whether an object counts as uploaded.
func TestPutBelievesTheAnswerOnly(t *testing.T) {
	const content = "content"
	for name, c := range map[string]struct {
		header, value string
		want          string
	}{
		"the checksum":      {"X-Amz-Checksum-Crc64nvme", crc(sum.CRC64NVME, content), ""},
		"another checksum":  {"X-Amz-Checksum-Crc64nvme", crc(sum.CRC64NVME, "other"), "the store has something else: its CRC64NVME is "},
		"the MD5":           {"ETag", `"` + hexMD5(content) + `"`, ""},
		"another MD5":       {"ETag", `"` + hexMD5("other") + `"`, "the store has something else: its ETag is "},
		"an ETag of no use": {"ETag", `"abc"`, "not verified"},
		"nothing":           {"X-Nothing", "", "not verified"},
	} {
		t.Run(name, func(t *testing.T) {
			var got http.Header
			b := bucketAt(t, func(w http.ResponseWriter, r *http.Request) {
				got = r.Header
				w.Header().Set(c.header, c.value)
			})
			fallen := 0
			b.OnNoChecksums = func() { fallen++ }
			err := b.Put(t.Context(), "k.html", open(t, content))
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
			assert.Equal(t, crc(sum.CRC64NVME, content), got.Get("X-Amz-Checksum-Crc64nvme"))
			assert.Contains(t, got.Get("Content-Type"), "text/html")
			if strings.Contains(c.header, "Checksum") {
				assert.Zero(t, fallen)
			} else {
				assert.Equal(t, 1, fallen)
			}
		})
	}
}

func TestChecksumsThatAreSent(t *testing.T) {
	const content = "content"
	for header, a := range map[string]*sum.Algorithm{
		"X-Amz-Checksum-Crc64nvme": sum.CRC64NVME, "X-Amz-Checksum-Crc32c": sum.CRC32C, "X-Amz-Checksum-Crc32": sum.CRC32, "Content-Md5": nil,
	} {
		var got http.Header
		b := bucketAt(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header
			w.Header().Set("ETag", `"`+hexMD5(content)+`"`)
		})
		b.Checksum = a
		require.NoError(t, b.Put(t.Context(), "k", open(t, content)))
		raw := md5.Sum([]byte(content))
		want := base64.StdEncoding.EncodeToString(raw[:])
		if a != nil {
			want = crc(a, content)
		}
		assert.Equal(t, want, got.Get(header))
		n := 0
		for h := range got {
			if strings.HasPrefix(h, "X-Amz-Checksum") || h == "Content-Md5" {
				n++
			}
		}
		assert.Equal(t, 1, n, got)
	}
}

func TestHas(t *testing.T) {
	content := strings.Repeat("0123456789", 100)
	first, second := md5.Sum([]byte(content[:600])), md5.Sum([]byte(content[600:]))
	parts := fmt.Sprintf(`"%x-2"`, md5.Sum(append(first[:], second[:]...)))
	whole := `"` + hexMD5(content) + `"`
	listed := func(etag string, size int64) *Object { return &Object{Size: size, ETag: etag} }
	for name, c := range map[string]struct {
		found *Object
		head  map[string]string
		want  bool
		asks  int
	}{
		"nothing known, nothing there":        {nil, nil, false, 1},
		"listed with the MD5":                 {listed(whole, 1000), nil, true, 0},
		"listed with another size":            {listed(whole, 999), nil, false, 0},
		"listed with another MD5":             {listed(`"`+hexMD5("x")+`"`, 1000), map[string]string{"ETag": `"` + hexMD5("x") + `"`}, false, 1},
		"an MD5 that is none, and a checksum": {listed(`"`+hexMD5("x")+`"`, 1000), map[string]string{"ETag": `"` + hexMD5("x") + `"`, "X-Amz-Checksum-Crc32": crc(sum.CRC32, content)}, true, 1},
		"another checksum":                    {nil, map[string]string{"ETag": whole, "X-Amz-Checksum-Crc64nvme": crc(sum.CRC64NVME, "x")}, false, 1},
		"parts, and their size":               {listed(parts, 1000), map[string]string{"ETag": parts, "X-Amz-Meta-Aimd-Part-Size": "600"}, true, 1},
		"parts of another size":               {nil, map[string]string{"ETag": parts, "X-Amz-Meta-Aimd-Part-Size": "500"}, false, 1},
		"parts of unknown size":               {nil, map[string]string{"ETag": parts}, false, 1},
		"parts, and a checksum of the whole":  {nil, map[string]string{"ETag": parts, "X-Amz-Checksum-Crc64nvme": crc(sum.CRC64NVME, content), "X-Amz-Checksum-Type": "FULL_OBJECT"}, true, 1},
		"parts, and a checksum of checksums":  {nil, map[string]string{"ETag": parts, "X-Amz-Checksum-Crc32": crc(sum.CRC32, "x"), "X-Amz-Checksum-Type": "COMPOSITE", "X-Amz-Meta-Aimd-Part-Size": "600"}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			asks := 0
			b := bucketAt(t, func(w http.ResponseWriter, r *http.Request) {
				asks++
				assert.Equal(t, http.MethodHead, r.Method)
				if c.head == nil {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				w.Header().Set("Content-Length", "1000")
				for k, v := range c.head {
					w.Header().Set(k, v)
				}
			})
			got, err := b.Has(t.Context(), "k", open(t, content), c.found)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.asks, asks)
		})
	}
}

func TestPartSize(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for _, c := range [][3]int64{
		{100 * mib, 8 * mib, 8 * mib}, {10_000 * 8 * mib, 8 * mib, 8 * mib}, {10_000*8*mib + 1, 8 * mib, 9 * mib}, {5 << 40, 8 * mib, 525 * mib}, {gib, 5 * gib, 5 * gib},
	} {
		got := PartSize(c[0], c[1])
		assert.Equal(t, c[2], got, c)
		assert.LessOrEqual(t, (c[0]+got-1)/got, int64(partsMost))
	}
}

func TestProbe(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		code   string
		force  bool
		want   string
	}{
		"all well":           {200, "", false, ""},
		"no bucket":          {404, "NoSuchBucket", false, "there is no bucket bucket; make it first"},
		"no bucket, force":   {404, "NoSuchBucket", true, "there is no bucket bucket; make it first"},
		"no listing":         {403, "AccessDenied", false, "--force uploads without"},
		"no listing, force":  {403, "AccessDenied", true, ""},
		"unknown key":        {403, "InvalidAccessKeyId", false, "the credentials are not accepted"},
		"something else":     {400, "Odd", false, "bucket bucket cannot be used"},
		"not an S3 endpoint": {200, "<html>", false, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			b := bucketAt(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(c.status)
				switch {
				case r.Method == http.MethodHead:
				case c.code == "<html>":
					_, _ = io.WriteString(w, "<html><p>hello</html>")
				case c.code != "":
					_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", c.code)
				default:
					_, _ = io.WriteString(w, "<ListBucketResult></ListBucketResult>")
				}
			})
			endpoint := *b.Client.Options().BaseEndpoint
			err := b.Probe(t.Context(), endpoint, "", !c.force)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "--endpoint "+endpoint+": ")
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestProbeOfNobody(t *testing.T) {
	b := bucketAt(t, nil)
	err := b.Probe(t.Context(), "http://127.0.0.1:1", "", true)
	require.ErrorContains(t, err, "--endpoint http://127.0.0.1:1: nobody answers there: ")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.Probe(ctx, "http://127.0.0.1:1", "", true), context.Canceled)
}
