package upload

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/cli"
	"github.com/aimd-go/aimd/cmd/aimd/internal/cli/clitest"
)

// command runs the command line.
func command(t *testing.T, args ...string) clitest.Outcome {
	return clitest.Here(t.Context(), []*cobra.Command{Command()}, append([]string{"upload"}, args...)...)
}

func TestDestinations(t *testing.T) {
	for s, want := range map[string][2]string{
		"s3://bucket": {"bucket", ""}, "s3://bucket/": {"bucket", ""}, "s3://my.bucket/a/b": {"my.bucket", "a/b/"}, "s3://bucket/a/": {"bucket", "a/"},
		"s3://bucket/ä ö": {"bucket", "ä ö/"},
	} {
		bucket, prefix, err := destination(s)
		require.NoError(t, err)
		assert.Equal(t, want, [2]string{bucket, prefix})
	}
	_, _, err := destination("s3://bucket/\xff")
	require.ErrorContains(t, err, "must be UTF-8")
}

func TestWhatPeopleSee(t *testing.T) {
	w := newWorld(t)
	w.write("a", "content")
	w.write("bell\a", "content")
	w.write("bad\xff", "x")
	require.NoError(t, os.Symlink(".", filepath.Join(w.dir, "loop")))
	to := []string{w.dir, "s3://bucket/p", "--endpoint", w.URL}

	reasons := []string{
		`skipped: "` + w.dir + `/loop": symbolic link to a directory that it lies in, not followed`,
		`failed: "` + w.dir + `/bad\xff": the name is not UTF-8, as a key must be`, "aimd: 1 of 4 files failed",
	}
	lines := func(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }
	got := command(t, append(to, "--dry-run")...)
	assert.Equal(t, cli.Failed, got.Status)
	assert.ElementsMatch(t, []string{
		`planned: "` + w.dir + `/a" -> "p/a"`, `planned: "` + w.dir + `/bell\a" -> "p/bell\a"`,
		"would upload 2 files (0.0 MiB), 1 skipped, 1 failed",
	}, lines(got.Stdout))
	assert.ElementsMatch(t, reasons, lines(got.Stderr))

	got = command(t, to...)
	assert.Contains(t, got.Stdout, "2 stored (0.0 MiB), 1 skipped, 1 failed in ")
	assert.ElementsMatch(t, reasons, lines(got.Stderr))
	got = command(t, append(to, "--quiet")...)
	assert.Empty(t, got.Stdout)
	assert.ElementsMatch(t, reasons[1:], lines(got.Stderr))
}

func TestInterruptedBeforeItBegins(t *testing.T) {
	w := newWorld(t)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	got := clitest.Here(interrupted, []*cobra.Command{Command()}, "upload", w.dir, "s3://bucket", "--endpoint", w.URL)
	assert.Equal(t, cli.Interrupted, got.Status, got.Stderr)
}

// The store looks at the page when the first file comes.
func TestLive(t *testing.T) {
	w := newWorld(t)
	w.write("a", "content")
	cmd := Command()
	var stderr bytes.Buffer // nothing writes to it but before the work and, with --quiet, after it
	var once sync.Once
	w.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPut(r) {
			once.Do(func() { clitest.Shows(t, stderr.String(), `"name":"upload"`) })
		}
		return false
	})
	cmd.SetOut(new(bytes.Buffer))
	cmd.SetErr(&stderr)
	cmd.SetArgs([]string{w.dir, "s3://" + testBucket, "--endpoint", w.URL, "--live", "--quiet"})
	require.NoError(t, cmd.ExecuteContext(t.Context()))
	assert.Len(t, w.stored(), 1)
}

// A store that does not know checksums gets the content, and nothing else, over TLS too.
func TestOverTLS(t *testing.T) {
	w := newWorld(t)
	w.write("a", "content")
	w.write("empty", "")
	content := random(large)
	w.write("large", content)
	s := httptest.NewTLSServer(w.Next)
	defer s.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	t.Setenv("AWS_CA_BUNDLE", ca)
	for _, sum := range checksums {
		o := w.run(func(c *Config) { c.Endpoint, c.Checksum, c.Force = s.URL, sum, true })
		require.NoError(t, o.err, sum)
		assert.Equal(t, map[string]string{"p/a": "content", "p/empty": "", "p/large": content}, w.stored(), sum)
	}
}

// The first request ends in one line that says what is wrong, and how to mend it.
func TestWhatIsWrongAtTheStart(t *testing.T) {
	w := newWorld(t)
	secure := httptest.NewTLSServer(w.Next)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer secure.Close()
	_, refused := net.Dial("tcp", "127.0.0.1:1") // in the words of the system
	const credentials = "the credentials are refused; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or AWS_PROFILE, and the clock: "
	for name, c := range map[string]struct {
		endpoint string
		status   int
		code     string
		want     string
	}{
		"nothing listens":     {"http://127.0.0.1:1", 0, "", cli.Reason(refused).Error()},
		"https to http":       {strings.Replace(w.URL, "http:", "https:", 1), 0, "", "http: server gave HTTP response to HTTPS client"},
		"http to https":       {w.URL, 400, "", "the server there may speak TLS only; want https:// in place of http://, or another port: "},
		"another certificate": {secure.URL, 0, "", "x509: "},
		"no bucket":           {w.URL, 404, "NoSuchBucket", "there is no bucket bucket; make it first: NoSuchBucket: "},
		"no right to list":    {w.URL, 403, "AccessDenied", "the credentials do not allow to list bucket bucket, to skip what is there; --force uploads without: api error AccessDenied: "},
		"another key":         {w.URL, 403, "InvalidAccessKeyId", credentials + "api error InvalidAccessKeyId: "},
		"an old token":        {w.URL, 400, "ExpiredToken", credentials + "api error ExpiredToken: "},
		"no key":              {w.URL, 401, "Unauthorized", credentials + "api error Unauthorized: "},
		"signed for another":  {w.URL, 400, "AuthorizationHeaderMalformed", "the bucket is in another region; set AWS_REGION: api error AuthorizationHeaderMalformed: "},
		"another region":      {w.URL, 301, "PermanentRedirect", "the bucket is in another region; set AWS_REGION: api error PermanentRedirect: "},
		"anything else":       {w.URL, 400, "InvalidRequest", "api error InvalidRequest: "},
	} {
		w.set(func(rw http.ResponseWriter, r *http.Request) bool {
			if c.code == "" {
				http.Error(rw, "Client sent an HTTP request to an HTTPS server.", c.status)
				return true
			}
			return deny(rw, r, c.status, c.code)
		})
		got := command(t, w.dir, "s3://bucket", "--endpoint", c.endpoint)
		assert.Equal(t, cli.Failed, got.Status, name)
		said, begins := strings.CutPrefix(got.Stderr, "aimd: the store at "+c.endpoint+": "+c.want)
		assert.True(t, begins, "%s: %v", name, got.Stderr)
		assert.NotContains(t, said, "StatusCode", name)
		assert.Equal(t, 1, strings.Count(said, "\n"), name)
	}
	assert.Contains(t, command(t, w.dir, "s3://bucket").Stderr, "no AWS region found")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	assert.Contains(t, command(t, w.dir, "s3://bucket", "--endpoint", w.URL).Stderr, "no AWS credentials found; set AWS_ACCESS_KEY_ID")
}

// A user who has stopped a run sees that it stops, also if the reader of standard output, as a
// pager, does not read.
func TestAStoppedRunSaysSo(t *testing.T) {
	w := newWorld(t)
	w.files(3)
	ctx, interrupt := context.WithCancel(t.Context())
	reader, stdout := io.Pipe()
	stderr := writer(func(p []byte) {
		if strings.Contains(string(p), "stopping; Ctrl-C again") {
			assert.NoError(t, reader.Close())
		}
	})
	w.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPut(r) {
			interrupt()
		}
		return false
	})
	c := w.config()
	c.Stdout, c.Stderr = stdout, stderr
	_, err := Run(ctx, c)
	require.ErrorIs(t, err, context.Canceled)
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestTheLine(t *testing.T) {
	w := newWorld(t)
	u := w.connected(w.config())
	assert.Regexp(t, `^0 files  0.0 MiB  0.0 MiB/s  cwnd `, u.line())
	u.store.sent.Add(60 << 20)
	u.report.add(result{Status: failed})
	u.report.began = time.Now().Add(-10 * time.Second)
	assert.Regexp(t, `^1 files  60.0 MiB  [56].. MiB/s  cwnd .*  1 failed$`, u.line())

	// 60 MiB of 180 took 10 s; each of 3 files counts as 64 KiB more.
	u.work.Store(180<<20 + 3*64<<10)
	assert.Regexp(t, `  1 failed  some 20s left$`, u.line())
	u.work.Store(60<<20 + 64<<10)
	assert.Regexp(t, `  1 failed$`, u.line(), "nothing is left")
}

// What all files weigh is known as soon as the walk has seen them.
func TestTheRestIsCounted(t *testing.T) {
	w := newWorld(t)
	w.write("a", "content")
	w.write("b/c", "con")
	w.write("d.tmp", "none")
	c := w.config()
	c.Exclude = []string{"*.tmp"}
	u := w.connected(c)
	u.count(t.Context())
	assert.EqualValues(t, 2*64<<10+10, u.work.Load())
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	u = w.connected(c)
	u.count(interrupted)
	assert.Zero(t, u.work.Load())
}

// A first window of 64, and parts of 16 MiB: what goes at once to a store that takes all.
func TestTheFirstWindow(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	assert.EqualValues(t, 64, w.connected(c).limiter.Snapshot().Cwnd)
	c.MaxWindow = 8
	assert.EqualValues(t, 8, w.connected(c).limiter.Snapshot().Cwnd)
	assert.EqualValues(t, 16<<20, defaults().PartSize)
}

// The storage class and the encryption go with files in one request and in parts.
func TestStorageClassAndEncryption(t *testing.T) {
	w := newWorld(t)
	w.write("small", "content")
	w.write("large", random(large))
	asked := make(chan []string, 2)
	w.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if isPut(r) || r.URL.Query().Has("uploads") {
			h := r.Header
			asked <- []string{h.Get("X-Amz-Storage-Class"), h.Get("X-Amz-Server-Side-Encryption"), h.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id")}
		}
		return false
	})
	got := command(t, w.dir, "s3://bucket/p", "--endpoint", w.URL, "--part-size", "5MiB", "--storage-class", "STANDARD_IA", "--sse", "aws:kms", "--sse-kms-key-id", "k")
	require.Zero(t, got.Status, got.Stderr)
	for range 2 {
		assert.Equal(t, []string{"STANDARD_IA", "aws:kms", "k"}, <-asked)
	}
	got = command(t, w.dir, "s3://bucket/p", "--endpoint", w.URL, "--part-size", "5MiB", "--force")
	require.Zero(t, got.Status, got.Stderr)
	for range 2 {
		assert.Equal(t, []string{"", "", ""}, <-asked)
	}

	// A class that the store does not have fails each file, so it stops the run.
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		return isPut(r) && deny(rw, r, 400, "InvalidStorageClass")
	})
	got = command(t, w.dir, "s3://bucket/q", "--endpoint", w.URL, "--storage-class", "STANDRAD")
	assert.Contains(t, got.Stderr, "aimd: stopped: api error InvalidStorageClass")
}

func TestFilesFromAListAndPatterns(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"b.jpg", "a.jpg", "a.txt", "d/c.jpg", "cache/e.jpg"} {
		w.write(name, "content of "+name)
	}
	list := filepath.Join(t.TempDir(), "list")
	require.NoError(t, os.WriteFile(list, []byte("d/c.jpg\n./a.jpg\n\nb.jpg\na.txt\nnone\n../x"), 0o600))
	to := []string{w.dir, "s3://bucket/p", "--endpoint", w.URL}
	keys := func() (all []string) {
		for key := range w.stored() {
			all = append(all, strings.TrimPrefix(key, "p/"))
		}
		return all
	}

	got := command(t, append(to, "--files-from", list, "--exclude", "b*")...)
	assert.ElementsMatch(t, []string{"a.jpg", "a.txt", "d/c.jpg"}, keys())
	assert.Contains(t, got.Stdout, "3 stored (0.0 MiB), 0 skipped, 2 failed")
	assert.Contains(t, got.Stderr, `failed: "../x": want a path below the directory`)
	assert.Contains(t, got.Stderr, `none": `+syscall.ENOENT.Error()+"\n")

	got = command(t, list, "s3://bucket/p", "--files-from", "-")
	assert.Equal(t, cli.WrongUsage, got.Status)
	assert.Contains(t, got.Stderr, "--files-from -: want a directory as the first argument, it is "+list)

	cmd := Command()
	cmd.SetIn(strings.NewReader("b.jpg\na.jpg"))
	cmd.SetArgs(append(to, "--files-from", "-", "--quiet"))
	w.forget()
	require.NoError(t, cmd.ExecuteContext(t.Context()))
	assert.ElementsMatch(t, []string{"a.jpg", "a.txt", "b.jpg", "d/c.jpg"}, keys())
	assert.Equal(t, 1, w.count("PUT"))
	assert.Equal(t, 1, w.count("HEAD"), "a.jpg came after b.jpg, so the listing had passed it")

	got = command(t, append(to, "--include", "*.jpg", "--include", "none", "--exclude", "cache", "--dry-run", "--force")...)
	assert.Contains(t, got.Stdout, "would upload 3 files (0.0 MiB), 0 skipped, 0 failed")
}

// Standard output has a line of JSON for each file, and one at the end, whatever is quiet.
func TestJSON(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "quo\"te", "bad\xff"} {
		w.write(name, "content")
	}
	for _, flag := range []string{"--dry-run", "--quiet", "--quiet"} {
		got := command(t, w.dir, "s3://bucket/p", "--endpoint", w.URL, "--json", flag)
		assert.Equal(t, cli.Failed, got.Status)
		var lines []map[string]any
		for line := range strings.Lines(got.Stdout) {
			var x map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &x), line)
			lines = append(lines, x)
		}
		require.Len(t, lines, 4)
		last := lines[3]
		assert.Equal(t, "summary", last["status"])
		assert.Contains(t, last, "seconds")
		assert.EqualValues(t, 1, last["failed"])
		for _, x := range lines[:3] {
			switch {
			case x["status"] == "failed":
				assert.Equal(t, "the name is not UTF-8, as a key must be", x["why"])
			case x["key"] == "p/quo\"te":
				assert.Equal(t, w.dir+"/quo\"te", x["path"])
				assert.EqualValues(t, 7, x["size"])
				assert.EqualValues(t, 2, last[x["status"].(string)], "%v", x)
			}
		}
	}
}
