package httplimit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/httplimit"
)

// A batch of which the service refuses the items: Elasticsearch's bulk (elastic/logstash#1631, vectordotdev/vector#11359).
// The program sends those again. 1000 bulks against 8 slots were asked for 305 000 times, without a cut.

// index takes 8 bulks at a time, and refuses each item of another.
type index struct{ busy, asked atomic.Int32 }

func (x *index) RoundTrip(r *http.Request) (*http.Response, error) {
	n, _ := strconv.Atoi(r.URL.Query().Get("items"))
	x.asked.Add(1)
	full, item := x.busy.Add(1) > 8, `{"index":{"status":201}}`
	if full {
		x.busy.Add(-1)
		item = `{"index":{"status":429,"error":{"type":"es_rejected_execution_exception","reason":"rejected execution"}}}`
		time.Sleep(20 * time.Millisecond)
	} else {
		time.Sleep(100 * time.Millisecond)
		x.busy.Add(-1)
	}
	body := fmt.Sprintf(`{"took":30,"errors":%v,"items":[%s]}`, full, strings.TrimSuffix(strings.Repeat(item+",", n), ","))
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json; charset=UTF-8"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), ProtoMajor: 1, Request: r}, nil
}

func TestABatchWhoseItemsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim, err := aimd.New(aimd.Config{})
		require.NoError(t, err)
		service := new(index)
		client := (&httplimit.Transport{Base: service, Limiter: lim}).Client()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var done atomic.Int32
		var all sync.WaitGroup
		for range 200 { // 2.5 s
			all.Go(func() {
				for left := 10; left > 0 && ctx.Err() == nil; {
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://index.example/_bulk?items="+strconv.Itoa(left), strings.NewReader("{}\n"))
					if !assert.NoError(t, err) {
						return
					}
					resp, err := client.Do(req)
					if err != nil {
						return
					}
					var document struct {
						Items []struct {
							Index struct {
								Status int `json:"status"`
							} `json:"index"`
						} `json:"items"`
					}
					err = json.NewDecoder(resp.Body).Decode(&document)
					resp.Body.Close()
					if !assert.NoError(t, err) {
						return
					}
					left = 0
					for _, item := range document.Items {
						if item.Index.Status == http.StatusTooManyRequests {
							left++
						}
					}
					if left == 0 {
						done.Add(1)
					}
				}
			})
		}
		all.Wait()
		s := lim.Snapshot()
		assert.EqualValues(t, 200, done.Load())
		assert.LessOrEqual(t, service.asked.Load(), int32(260), "1.3 times the best")
		assert.NotZero(t, s.Cuts)
		_ = lim.Close()
	})
}
