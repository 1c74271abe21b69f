package upload

import (
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/bucket"
)

// What cannot be removed is named: in the file's line, in the summary and on standard error.
func TestPartsThatAreLeftAreNamed(t *testing.T) {
	w := newWorld(t)
	w.write("large", random(20<<10))
	ctx, interrupt := context.WithCancel(t.Context())
	w.set(func(rw http.ResponseWriter, r *http.Request) bool {
		if isPart(r) {
			interrupt()
		}
		return r.Method == http.MethodDelete && deny(rw, r, 403, "AccessDenied")
	})
	o := w.runWithin(ctx)
	require.ErrorIs(t, o.err, context.Canceled)
	require.Len(t, o.Incomplete, 1)
	left := o.Incomplete[0]
	assert.Equal(t, "p/large", left.Key)
	assert.Contains(t, o.lines["large"].Error, "not done: the upload was stopped; parts of it may be left in the store (upload "+left.ID+"): ")
	assert.Equal(t, "incomplete: parts of p/large are in the store, or may be (upload "+left.ID+")\n", o.stderr)
	assert.Equal(t, 1, w.openUploads())
}

// Parts of a run that was killed, which could name nothing, the next one names.
func TestPartsOfAnEarlierRunAreNamed(t *testing.T) {
	w := newWorld(t)
	begun, err := w.client().CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: aws.String(testBucket), Key: aws.String("p/large")})
	require.NoError(t, err)
	w.write("large", random(20<<10))
	o := w.run()
	require.NoError(t, o.err)
	want := []bucket.Incomplete{{Key: "p/large", ID: *begun.UploadId}}
	assert.Equal(t, want, o.Incomplete)
	assert.Contains(t, o.stderr, *begun.UploadId)
	assert.Empty(t, w.run().Incomplete, "nothing went in parts: not asked")
}
