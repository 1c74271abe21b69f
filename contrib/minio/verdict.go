package aimdminio

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/aimd-go/aimd/limiter"
)

// Classify is a limiter.Classifier that knows the errors of minio-go, which
// limiter.Classify cannot read: an ErrorResponse has its code and status in
// fields, and a connection that was cut off comes as text. It leaves all
// others to the next of limiter.FirstOf:
//
//	aimd.WithClassifier(limiter.FirstOf(aimdminio.Classify, limiter.Classify))
//
// Codes and statuses are read as limiter.Classify does. Beside these, 499 and
// 520, which minio-go itself tries again, are neutral and tried again.
func Classify(err error) limiter.Verdict {
	var answer minio.ErrorResponse
	if errors.As(err, &answer) {
		switch answer.StatusCode {
		case 499, 520: // nginx: the client has gone; Cloudflare: the origin is unwell
			return limiter.Verdict{Outcome: limiter.Neutral, Retry: true}
		}
		r := response{code: answer.Code}
		if answer.StatusCode >= http.StatusBadRequest {
			return limiter.Classify(statusResponse{r, answer.StatusCode})
		}
		// The error of an answer of 200.
		return limiter.Classify(r)
	}
	if hungUp(err) {
		return limiter.Verdict{Outcome: limiter.Neutral, Retry: true}
	}
	return limiter.Verdict{}
}

// hungUp reports whether the service closed the connection before it answered:
// minio-go makes a text of every error of sending that has EOF in it.
func hungUp(err error) bool {
	var sending *url.Error
	return errors.As(err, &sending) && sending.Err != nil &&
		strings.HasPrefix(sending.Err.Error(), "Connection closed by foreign host")
}

// response is an API error in the form that limiter.Classify reads.
type response struct{ code string }

func (r response) Error() string     { return r.code }
func (r response) ErrorCode() string { return r.code }

// statusResponse is one that came with a status.
type statusResponse struct {
	response
	status int
}

func (r statusResponse) HTTPStatusCode() int { return r.status }
