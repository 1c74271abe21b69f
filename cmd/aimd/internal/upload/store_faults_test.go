package upload

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/atomic"

	"github.com/aimd-go/aimd/internal/s3test"
)

// Bytes that were hurt on their way, and a completion that comes too soon (aws/aws-sdk-ruby#1264, minio/mc#2245): the same
// file sent again passes.
func TestADigestThatDoesNotFit(t *testing.T) {
	for name, c := range map[string]struct {
		which func(*http.Request) bool
		code  string
	}{
		"a put":        {isPut, "BadDigest"},
		"a part":       {isPart, "BadDigest"},
		"a completion": {func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") }, "InvalidPart"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("small", "content")
			w.write("large", strings.Repeat("x", 3*partLeast+5))
			var failed atomic.Bool
			w.set(func(rw http.ResponseWriter, r *http.Request) bool {
				if !c.which(r) || failed.Swap(true) {
					return false
				}
				s3test.Answer(rw, r, http.StatusBadRequest, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>`+c.code+`</Code><Message>m</Message></Error>`)
				return true
			})
			o := w.run()
			require.NoError(t, o.err)
			assert.EqualValues(t, 2, o.Stored)
		})
	}
}

// Who sends a checksum of other bytes gets the same answer each time: three more attempts, and then it is an error.
func TestADigestThatNeverFits(t *testing.T) {
	w := newWorld(t)
	w.write("small", "content")
	w.set(func(rw http.ResponseWriter, r *http.Request) bool { return isPut(r) && deny(rw, r, 400, "BadDigest") })
	require.Error(t, w.run().err)
	assert.Equal(t, 4, w.count("PUT"))
}

// A bucket that is full: the run stops, and says so (versity/versitygw#503). It hung for ever.
func TestABucketThatIsFullStops(t *testing.T) {
	w := newWorld(t)
	w.files(200)
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		return isPut(r) && deny(rw, r, 403, "QuotaExceeded")
	})
	o := w.run()
	require.ErrorContains(t, o.err, "QuotaExceeded")
	assert.Less(t, w.count("PUT"), 100)
}

// At a store that could do none of a million files each failed on its own, unless it said AccessDenied. What is about one
// file stops no others, nor does what passes, nor a denial after a success.
func TestAStoreThatDeniesAllStops(t *testing.T) {
	for code, c := range map[string]struct{ status, first, want int }{ // the first are stored
		"MethodNotAllowed": {405, 0, 16}, "Forbidden": {403, 0, 16}, "NotImplemented": {501, 0, 16}, "InsufficientStorage": {507, 0, 16}, "NotVerified": {200, 0, 16},
		"EntityTooLarge": {400, 0, 30}, "RequestEntityTooLarge": {413, 0, 30}, "InternalError": {500, 0, 30}, "AccessDenied": {403, 1, 30},
	} {
		w, puts, stopped := newWorld(t), 0, false
		w.set(func(rw http.ResponseWriter, r *http.Request) bool {
			if isPut(r) && code == "NotVerified" {
				s3test.Answer(rw, r, c.status, "")
				return true
			}
			return isPut(r) && w.count("PUT") > c.first && deny(rw, r, c.status, code)
		})
		config, path := w.config(), w.write("a", "x")
		config.MaxAttempts = 1
		u := w.connected(config)
		for u.stop = func(error) { stopped = true }; puts < 30 && !stopped; puts++ {
			u.report.add(u.file(t.Context(), entry{path: path, key: "p/a"}, absent))
		}
		assert.Equal(t, c.want, puts, code)
	}
}

// Two stores that the environment named were one fleet, and a slash made two of one.
func TestTheStoreHasItsAddress(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	c.Endpoint += "/"
	assert.Equal(t, w.URL, w.connected(c).at)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ENDPOINT_URL", w.URL)
	c.Endpoint = ""
	assert.Equal(t, w.URL, w.connected(c).at)
}

// The mark with which some editors begin UTF-8 was taken for a part of the first path.
func TestAListWithAMark(t *testing.T) {
	w := newWorld(t)
	w.write("a", "x")
	w.write("\ufeffb", "x")
	o := w.run(func(c *Config) { c.List = strings.NewReader("\ufeffa\r\n\ufeffb\n") })
	require.NoError(t, o.err)
	assert.EqualValues(t, 2, o.Stored)
}

// Refusals without a success for five seconds are said, also of the first request: the run was silent for as long as that was
// refused, and a refusal before the first line was forgotten.
func TestAStoreThatOnlyRefusesIsSaid(t *testing.T) {
	w := newWorld(t)
	stderr, said, err := os.Pipe()
	require.NoError(t, err)
	w.intercept = func(rw http.ResponseWriter, r *http.Request) bool {
		first := make([]byte, 1)
		_, _ = stderr.Read(first)
		return deny(rw, r, 400, string(first))
	}
	assert.ErrorContains(t, w.run(func(c *Config) { c.Stderr = said }).err, "api error 0: ")
	require.NoError(t, cmp.Or(stderr.Close(), said.Close()))
	w.set(nil)
	u := w.connected(w.config())
	u.seen.Store(u.limiter.Snapshot().Successes)
	u.classify(answered(503))
	assert.NotContains(t, u.line(), "waiting")
	u.worked.Store(time.Now().Add(-silent + time.Second))
	assert.NotContains(t, u.line(), "waiting")
	u.worked.Store(time.Now().Add(-silent))
	assert.Contains(t, u.line(), "waiting: ")
}

// A store that answered 500 to each first request gave "no answer".
func TestAStoreThatNeverWorksIsSaid(t *testing.T) {
	w := newWorld(t)
	u := &run{Config: w.config()}
	var asked atomic.Int64
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		if asked.Inc() == 2 {
			u.silence.Reset(0)
		}
		return deny(rw, r, 500, "InternalError")
	})
	require.NoError(t, u.connect(t.Context()))
	assert.ErrorContains(t, u.probe(t.Context()), "within 15s there was InternalError")
}

// S3 says where the bucket is, and the tool did not.
func TestTheRegionOfTheBucketIsSaid(t *testing.T) {
	w := newWorld(t)
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		rw.Header().Set("X-Amz-Bucket-Region", "eu-central-1")
		return deny(rw, r, 301, "PermanentRedirect")
	})
	assert.ErrorContains(t, w.run().err, "the bucket is in another region; set AWS_REGION=eu-central-1: ")
}

// A store, or a gateway before it, that spoils the bytes and answers with the checksum of what it keeps: the answer says
// itself that the content is another, and the tool says "stored", status 0. It looks only whether there is a checksum.
func TestAdvAnswerWithAnotherChecksum(t *testing.T) {
	for _, size := range []int{5, 2*partLeast + 1} {
		w := newWorld(t)
		content := make([]byte, size)
		w.write("a", string(content))
		wrong := crc("other bytes")
		w.intercept = func(rw http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				rw.Header().Set("X-Amz-Checksum-Crc64nvme", wrong)
				rw.Header().Set("Etag", `"00000000000000000000000000000000"`)
				if r.URL.Query().Has("partNumber") {
					_, _ = io.Copy(io.Discard, r.Body)
					return true
				}
				_, _ = io.Copy(io.Discard, r.Body)
				return true
			}
			if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
				rw.Header().Set("Content-Type", "application/xml")
				fmt.Fprintf(rw, `<CompleteMultipartUploadResult><Key>p/a</Key><ETag>"0-3"</ETag><ChecksumCRC64NVME>%s</ChecksumCRC64NVME></CompleteMultipartUploadResult>`, wrong)
				return true
			}
			return false
		}
		s, err := Run(t.Context(), w.config())
		assert.Error(t, err, "%d bytes: stored %d, and the store's checksum is %s, ours %s", size, s.Stored, wrong, crc(string(content)))
	}
}

// The store puts good parts together wrongly, and says so itself.
func TestACompletionWithAnotherChecksum(t *testing.T) {
	for sum, right := range map[string]bool{crc(strings.Repeat("x", 2*partLeast+1)): true, crc("other bytes"): false, crc("parts") + "-3": true} {
		w := newWorld(t)
		w.write("a", strings.Repeat("x", 2*partLeast+1))
		w.intercept = func(rw http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && r.URL.Query().Has("uploadId") {
				s3test.Answer(rw, r, http.StatusOK, `<CompleteMultipartUploadResult><ETag>"0-3"</ETag><ChecksumCRC64NVME>`+sum+`</ChecksumCRC64NVME></CompleteMultipartUploadResult>`)
				return true
			}
			return false
		}
		s, err := Run(t.Context(), w.config())
		assert.Equal(t, right, err == nil, "%s: %v", sum, err)
		assert.Equal(t, right, s.Stored == 1)
	}
}

// answered is the SDK's error of an answer with that status.
func answered(status int) error {
	r := &smithyhttp.Response{Response: &http.Response{StatusCode: status}}
	return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{Response: r, Err: errors.New("answer")}}
}
