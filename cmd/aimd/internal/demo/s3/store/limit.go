package store

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// limit lets so many requests in at a time and refuses the others at once.
type limit struct {
	// slots has an item for each request that is in.
	slots   chan struct{}
	next    http.Handler
	refused atomic.Int64
}

func (l *limit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
		l.next.ServeHTTP(w, r)
	default:
		slowDown(w, r, l.refused.Add(1))
	}
}

// slowDownBody is what S3 says: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
const slowDownBody = `<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message><RequestId>%[1]s</RequestId><HostId>aimd-demo</HostId></Error>`

// slowDown answers as S3 does. It takes the body first: a server that answers
// and closes while the client still sends shows as a broken connection, not as
// a refusal.
func slowDown(w http.ResponseWriter, r *http.Request, number int64) {
	_, _ = io.Copy(io.Discard, r.Body) // a client that went away needs no answer
	id := fmt.Sprintf("REFUSED%09d", number)
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Server", "AmazonS3")
	w.Header().Set("X-Amz-Request-Id", id)
	w.WriteHeader(http.StatusServiceUnavailable)
	if r.Method != http.MethodHead {
		_, _ = fmt.Fprintf(w, slowDownBody, id)
	}
}
