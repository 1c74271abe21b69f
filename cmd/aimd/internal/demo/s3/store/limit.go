package store

import (
	"fmt"
	"io"
	"net/http"
	"sync"
)

// limit lets so many requests in at a time and refuses the others at once.
type limit struct {
	slots int
	next  http.Handler

	mu sync.Mutex
	// Invariant: 0 <= busy <= slots.
	busy    int
	refused int
}

func (l *limit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number, ok := l.enter()
	if !ok {
		slowDown(w, r, number)
		return
	}
	defer l.leave()
	l.next.ServeHTTP(w, r)
}

// enter takes a slot, or reports false and the number of the refusal.
func (l *limit) enter() (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy >= l.slots {
		l.refused++
		return l.refused, false
	}
	l.busy++
	return 0, true
}

func (l *limit) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
}

func (l *limit) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

// slowDownBody is what S3 says: https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
const slowDownBody = `<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message><RequestId>%[1]s</RequestId><HostId>aimd-demo</HostId></Error>`

// slowDown answers as S3 does. It takes the body first: a server that answers
// and closes while the client still sends shows as a broken connection, not as
// a refusal.
func slowDown(w http.ResponseWriter, r *http.Request, number int) {
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
