package awslimit_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// A program reads objects as streams and asks for something else before the stream's end: copies, archives, indexes. Each
// goroutine holds a slot by its open body and waits for another: with 24 of them and a window of 20 all waited for ever.
func TestCopiesThroughTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slots(64, 10*time.Millisecond))
		c := s.client(newLimiter(t, aimd.Config{}))
		require.NoError(t, s.put("from", strings.Repeat("x", 1<<20)))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var done atomic.Int32
		var all sync.WaitGroup
		began := time.Now()
		for i := range 24 {
			all.Go(func() {
				out, err := get(ctx, c, "from")
				if err != nil {
					return
				}
				defer out.Body.Close()
				var head [4]byte
				if _, err := io.ReadFull(out.Body, head[:]); err != nil {
					return
				}
				_, err = c.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String(fmt.Sprint("to", i)), Body: strings.NewReader(string(head[:]))})
				if err == nil {
					done.Add(1)
				}
			})
		}
		all.Wait()
		t.Logf("%d of 24 in %v", done.Load(), time.Since(began))
		assert.EqualValues(t, 24, done.Load())
		assert.Less(t, time.Since(began), 30*time.Second)
	})
}
