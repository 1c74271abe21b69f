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

	"github.com/aimd-go/aimd"
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
		l := newLimiter(t, aimd.Config{})
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
