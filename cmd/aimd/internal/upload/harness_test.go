package upload

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/progress"
	"github.com/aimd-go/aimd/internal/s3test"
)

const testBucket = "bucket"

// world is a store that takes 16 requests at a time, and a directory.
type world struct {
	s3test.Store
	t       *testing.T
	dir     string
	objects *s3mem.Backend

	mu sync.Mutex
	// requests counts what the store let in, by method, and by method and query key
	// of multipart requests: "PUT", "POST?uploads", "PUT?partNumber".
	requests map[string]int
	// intercept answers in the store's place if it returns true.
	intercept func(http.ResponseWriter, *http.Request) bool
}

func newWorld(t *testing.T) *world {
	credentialsOnly(t)
	objects := s3mem.New()
	require.NoError(t, objects.CreateBucket(testBucket))
	w := &world{t: t, dir: t.TempDir(), objects: objects, requests: map[string]int{}}
	w.Slots, w.Service, w.Script = 16, time.Millisecond, w.comes
	w.Next = w.summed(gofakes3.New(objects, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	w.Start()
	t.Cleanup(w.Close)
	return w
}

// credentialsOnly sets an environment with credentials, and hides the machine's own settings.
func credentialsOnly(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "",
		"AWS_DEFAULT_REGION": "", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_RETRY_MODE": "", "AWS_MAX_ATTEMPTS": "", "AWS_ENDPOINT_URL": "", "AWS_CA_BUNDLE": "",
	} {
		t.Setenv(name, value)
	}
}

// comes counts a request, and reports whether it was answered already.
func (w *world) comes(rw http.ResponseWriter, r *http.Request) bool {
	kind := r.Method
	for _, q := range []string{"uploads", "partNumber", "uploadId", "list-type"} {
		if r.URL.Query().Has(q) {
			kind += "?" + q
			break
		}
	}
	w.mu.Lock()
	w.requests[kind]++
	intercept := w.intercept
	w.mu.Unlock()
	return intercept != nil && intercept(rw, r)
}

// summed answers a question for an object with its checksum, as S3 does.
func (w *world) summed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if key, _ := strings.CutPrefix(r.URL.Path, "/"+testBucket+"/"); r.Method == http.MethodHead {
			if content, ok := w.stored()[key]; ok {
				rw.Header().Set("X-Amz-Checksum-Crc64nvme", crc(content))
			}
		}
		next.ServeHTTP(rw, r)
	})
}

func (w *world) count(kind string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[kind]
}

func (w *world) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = map[string]int{}
}

func (w *world) write(name, content string) string {
	if runtime.GOOS == "windows" && strings.ContainsAny(name, "\"?*:\\\a\n\t\xff") {
		w.t.Skipf("Windows allows no file with the name %q", name)
	}
	path := filepath.Join(w.dir, filepath.FromSlash(name))
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(w.t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

// files writes n files of one byte, and returns their paths.
func (w *world) files(n int) (paths []string) {
	for i := range n {
		paths = append(paths, w.write(fmt.Sprintf("%03d", i), "x"))
	}
	return paths
}

// config is that of the command, with parts of the least size.
func (w *world) config() Config {
	c := defaults()
	c.Source, c.Bucket, c.Prefix, c.Endpoint = w.dir, testBucket, "p/", w.URL
	c.Law, c.PartSize, c.Stdout, c.Stderr = "reno", partLeast, io.Discard, io.Discard
	return c
}

// connected is a run that has done nothing yet.
func (w *world) connected(c Config) *run {
	u := &run{Config: c, report: &reporter{Config: c, began: time.Now(), progress: new(progress.Line)}}
	require.NoError(w.t, u.connect(w.t.Context()))
	require.NoError(w.t, u.probe(w.t.Context()))
	return u
}

// outcome is the result of a run, and what it said about files.
type outcome struct {
	Summary
	err error
	// failures are the reasons by path below the directory.
	failures map[string]string
	stderr   string
}

func (w *world) run(change ...func(*Config)) outcome { return w.runWithin(w.t.Context(), change...) }

func (w *world) runWithin(ctx context.Context, change ...func(*Config)) outcome {
	c := w.config()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	for _, f := range change {
		f(&c)
	}
	o := outcome{failures: map[string]string{}}
	o.Summary, o.err = Run(ctx, c)
	o.stderr = stderr.String()
	for line := range strings.Lines(o.stderr) {
		var path string
		if n, _ := fmt.Sscanf(line, "failed: %q:", &path); n == 1 {
			rel, err := filepath.Rel(w.dir, path)
			require.NoError(w.t, err)
			o.failures[filepath.ToSlash(rel)] = line
		}
	}
	return o
}

// stored is what the store has, by key.
func (w *world) stored() map[string]string {
	all := map[string]string{}
	list, err := w.objects.ListBucket(testBucket, nil, gofakes3.ListBucketPage{})
	require.NoError(w.t, err)
	for _, o := range list.Contents {
		out, err := w.objects.GetObject(testBucket, o.Key, nil)
		require.NoError(w.t, err)
		b, err := io.ReadAll(out.Contents)
		require.NoError(w.t, err)
		all[o.Key] = string(b)
	}
	return all
}

// openUploads is the number of multipart uploads that were begun and neither completed nor aborted.
func (w *world) openUploads() int {
	answer := httptest.NewRecorder()
	w.Next.ServeHTTP(answer, httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, "/"+testBucket+"?uploads", nil))
	return strings.Count(answer.Body.String(), "<UploadId>")
}

// set changes what answers in the store's place.
func (w *world) set(intercept func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.intercept = intercept
}

func isPart(r *http.Request) bool { return r.URL.Query().Has("partNumber") }

func isPut(r *http.Request) bool { return r.Method == http.MethodPut && !isPart(r) }

func deny(w http.ResponseWriter, r *http.Request, status int, code string) bool {
	s3test.Answer(w, r, status, "<Error><Code>"+code+"</Code></Error>")
	return true
}

// random is n bytes that no other call returns.
func random(n int) string { return strings.Repeat(time.Now().String(), n/20+1)[:n] }
