package upload

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

const (
	// answerMost is the longest answer that is read, in bytes. Our choice: a page of a
	// listing, a thousand keys of 1 KiB and what belongs to each, has some 5 MiB.
	answerMost = 16 << 20
	// patience is the time that a request which changes the store has left after its context has
	// ended. Our choice: more than a working store takes for a part on its way.
	patience = 5 * time.Second
)

// patient is the HTTP client below the SDK. The store may keep what it was sent, so a request that changes
// the store gets its answer after the end of its context too: else a file would be reported as failed that
// the store has, and a part could come after its upload was aborted.
type patient struct{ aws.HTTPClient }

// Do implements the SDK's HTTP client.
func (p patient) Do(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		lasting, end := context.WithCancel(context.WithoutCancel(r.Context()))
		defer end()
		asked := r.Context()
		defer context.AfterFunc(asked, func() {
			if lost(asked) {
				end()
			} else {
				time.AfterFunc(patience, end)
			}
		})()
		r = r.WithContext(lasting)
	}
	resp, err := p.HTTPClient.Do(r)
	if err != nil {
		return resp, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMost))
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	return resp, err
}
