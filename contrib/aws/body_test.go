package aimdaws_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/limiter"
)

func TestStreamHoldsTheSlotUntilClose(t *testing.T) {
	synctest.Test(t, testStreamHoldsTheSlotUntilClose)
}

func testStreamHoldsTheSlotUntilClose(t *testing.T) {
	s := newStore(t)
	l := oneSlot(t)
	c := s.client(l)
	require.NoError(t, put(t.Context(), c, "k", strings.Repeat("x", 1<<20)))
	out, err := get(t.Context(), c, "k")
	require.NoError(t, err)
	done := make(chan error)
	go func() { done <- put(t.Context(), c, "k2", "x") }()
	settled(t, l, queued(1))
	require.Equal(t, 1, l.Snapshot().InFlight)
	require.NoError(t, out.Body.Close())
	require.NoError(t, <-done)
	require.NoError(t, out.Body.Close(), "closing twice is harmless")
	requireOutcomes(t, l, outcomes{successes: 3})
}

func TestStreamHoldsTheSlotUntilEOF(t *testing.T) {
	s := newStore(t)
	l := oneSlot(t)
	c := s.client(l)
	require.NoError(t, put(t.Context(), c, "k", "content"))
	out, err := get(t.Context(), c, "k")
	require.NoError(t, err)
	require.Equal(t, 1, l.Snapshot().InFlight)
	b, err := io.ReadAll(out.Body)
	require.NoError(t, err)
	require.Equal(t, "content", string(b))
	require.Zero(t, l.Snapshot().InFlight, "released at the end, though not closed")
	require.NoError(t, out.Body.Close())
	requireOutcomes(t, l, outcomes{successes: 2})
}

func TestStreamHoldsTheSlotUntilTheContextEnds(t *testing.T) {
	synctest.Test(t, testStreamHoldsTheSlotUntilTheContextEnds)
}

func testStreamHoldsTheSlotUntilTheContextEnds(t *testing.T) {
	s := newStore(t)
	l := oneSlot(t)
	c := s.client(l)
	require.NoError(t, put(t.Context(), c, "k", strings.Repeat("x", 1<<20)))
	ctx, cancel := context.WithCancel(t.Context())
	out, err := get(ctx, c, "k")
	require.NoError(t, err)
	require.Equal(t, 1, l.Snapshot().InFlight)
	cancel()
	settled(t, l, func(s limiter.Snapshot) bool { return s.InFlight == 0 })
	_ = out.Body.Close()
	requireOutcomes(t, l, outcomes{successes: 1, neutrals: 1})
}

// The SDK wraps the body once more when it verifies a checksum.
func TestStreamWithChecksum(t *testing.T) {
	sum := binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte("content")))
	s := newStore(t, scripted(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("X-Amz-Checksum-Crc32", base64.StdEncoding.EncodeToString(sum))
		_, _ = io.WriteString(w, "content")
		return true
	}))
	l := newLimiter(t)
	out, err := s.client(l).GetObject(t.Context(), &s3.GetObjectInput{
		Bucket: aws.String(bucket), Key: aws.String("k"), ChecksumMode: types.ChecksumModeEnabled})
	require.NoError(t, err)
	require.Equal(t, 1, l.Snapshot().InFlight)
	_, err = io.ReadAll(out.Body)
	require.NoError(t, err)
	requireOutcomes(t, l, outcomes{successes: 1})
	require.NoError(t, out.Body.Close())
}

func TestStreamThatBreaksOff(t *testing.T) {
	for name, c := range map[string]struct {
		breakOff func(http.ResponseWriter)
		timeout  time.Duration
		want     outcomes
	}{
		"connection cut": {breakOff: func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, want: outcomes{neutrals: 1}},
		"client timeout": {breakOff: func(http.ResponseWriter) {}, timeout: 500 * time.Millisecond, want: outcomes{timeouts: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, scripted(func(w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("Content-Length", "1000")
				_, _ = io.WriteString(w, "begins")
				_ = http.NewResponseController(w).Flush()
				c.breakOff(w)
				hang(r)
				return true
			}))
			l := newLimiter(t)
			client := s.client(l, func(cfg *aws.Config) { cfg.HTTPClient.(*http.Client).Timeout = c.timeout })
			out, err := get(t.Context(), client, "k")
			require.NoError(t, err)
			require.Equal(t, 1, l.Snapshot().InFlight)
			_, err = io.ReadAll(out.Body)
			require.Error(t, err)
			requireOutcomes(t, l, c.want)
			_ = out.Body.Close()
			requireOutcomes(t, l, c.want)
		})
	}
}

type spoilsport struct{}

func (spoilsport) AfterExecution(context.Context, *smithyhttp.InterceptorContext) error {
	return errors.New("spoiled")
}

func TestStreamThatAnInterceptorSpoils(t *testing.T) {
	s := newStore(t)
	require.NoError(t, s.put("k", strings.Repeat("x", 1<<20)))
	l := newLimiter(t)
	_, err := get(t.Context(), s.client(l, func(cfg *aws.Config) { cfg.Interceptors.AddAfterExecution(spoilsport{}) }), "k")
	require.ErrorContains(t, err, "spoiled")
	requireOutcomes(t, l, outcomes{successes: 1})
}

func TestNothingToReadReleasesAtOnce(t *testing.T) {
	s := newStore(t)
	l := newLimiter(t)
	c := s.client(l)
	require.NoError(t, put(t.Context(), c, "empty", ""))
	require.NoError(t, put(t.Context(), c, "full", "x"))
	out, err := get(t.Context(), c, "empty")
	require.NoError(t, err)
	requireIdle(t, l)
	require.NoError(t, out.Body.Close())
	_, err = c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String("full")})
	require.NoError(t, err)
	_, err = c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String("none")})
	require.Error(t, err)
	_, err = get(t.Context(), c, "none")
	requireCode(t, err, "NoSuchKey")
	_, err = c.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
	require.NoError(t, err)
	requireOutcomes(t, l, outcomes{successes: 5, clientErrors: 2})
}
