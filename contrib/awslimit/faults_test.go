package awslimit_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/internal/attempttest"
	"github.com/aimd-go/aimd/internal/s3test"
)

// DeleteObjects answers 200, and has SlowDown for each key that it did not delete (go-to-k/cls3#178). The program deletes
// those again. 400 calls against 8 slots were asked for 47 800 times.
func TestKeysThatAreRefusedWithinA200(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, asked, done atomic.Int32
		s := newStore(t, scripted(func(w http.ResponseWriter, r *http.Request) bool {
			body, _ := io.ReadAll(r.Body)
			asked.Add(1)
			document := `<?xml version="1.0" encoding="UTF-8"?><DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`
			if busy.Add(1) > 8 {
				busy.Add(-1)
				time.Sleep(20 * time.Millisecond)
				for i := range strings.Count(string(body), "<Key>") {
					document += fmt.Sprintf("<Error><Key>k%d</Key><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>", i)
				}
			} else {
				time.Sleep(100 * time.Millisecond)
				busy.Add(-1)
			}
			s3test.Answer(w, r, http.StatusOK, document+"</DeleteResult>")
			return true
		}))
		l := attempttest.Reno(t, aimd.Config{})
		c := s.client(l)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var all sync.WaitGroup
		for range 400 { // 5 s
			all.Go(func() {
				keys := make([]types.ObjectIdentifier, 10)
				for i := range keys {
					keys[i].Key = aws.String(fmt.Sprintf("k%d", i))
				}
				for len(keys) > 0 {
					out, err := c.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: aws.String(bucket), Delete: &types.Delete{Objects: keys, Quiet: aws.Bool(true)}})
					if err != nil {
						return
					}
					keys = keys[:0]
					for _, e := range out.Errors {
						keys = append(keys, types.ObjectIdentifier{Key: e.Key})
					}
				}
				done.Add(1)
			})
		}
		all.Wait()
		assert.EqualValues(t, 400, done.Load())
		assert.LessOrEqual(t, asked.Load(), int32(520), "1.3 times the best")
		assert.NotZero(t, l.Snapshot().Cuts, asked.Load())
	})
}

// A program reads objects as streams and asks for something else before the stream's end: copies, archives, indexes. Each
// goroutine holds a slot by its open body and waits for another: with 24 of them and a window of 20 all waited for ever.
func TestCopiesThroughTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, slots(64, 10*time.Millisecond))
		c := s.client(attempttest.Reno(t, aimd.Config{}))
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
