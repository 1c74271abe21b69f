package proxy

import (
	"compress/gzip"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/atomic"
)

// DynamoDB refuses with 400 and a code in JSON, Route 53 in XML, and SDKs ask for gzip. No program of 400 hears of it, and it
// takes at most 1.15 of the time that the same service takes which refuses with 429.
func TestRefusedBy400(t *testing.T) {
	const (
		inJSON = `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"The level of configured provisioned throughput for the table was exceeded."}`
		inXML  = `<?xml version="1.0"?><ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>`
	)
	eightSlots := func(refuse http.HandlerFunc) func(net.Conn) {
		var busy atomic.Int32
		return handled(func(w http.ResponseWriter, r *http.Request) {
			defer busy.Dec()
			if busy.Inc() > 8 {
				time.Sleep(5 * time.Millisecond)
				refuse(w, r)
				return
			}
			time.Sleep(50 * time.Millisecond)
		})
	}
	run := func(refuse http.HandlerFunc) (took time.Duration) {
		inBubble(t, eightSlots(refuse), nil, func(t *testing.T, b bubble) {
			var by map[int]int
			by, took = b.together(t, 400)
			assert.Equal(t, map[int]int{200: 400}, by)
		})
		return took
	}
	best := run(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	for kind, document := range map[string]string{"application/x-amz-json-1.0": inJSON, "text/xml": inXML} {
		for _, packed := range []bool{false, true} {
			took := run(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", kind)
				if !packed {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = w.Write([]byte(document))
					return
				}
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(http.StatusBadRequest)
				z := gzip.NewWriter(w)
				_, _ = z.Write([]byte(document))
				_ = z.Close()
			})
			assert.LessOrEqual(t, took.Seconds(), 1.15*best.Seconds(), "%s, packed: %v", kind, packed)
		}
	}
}
