package aimdminio

import (
	"errors"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/aimd-go/aimd/attempt"
	"github.com/aimd-go/aimd/window"
)

// Classify is an attempt.Classifier that knows the errors of minio-go, which attempt.Classify cannot
// read: an ErrorResponse has its code and status in fields, and a connection that was cut off comes as
// text. It leaves all others to the next of attempt.FirstOf:
//
//	aimd.WithClassifier(attempt.FirstOf(aimdminio.Classify, attempt.Classify))
//
// Codes and statuses are read as attempt.Classify does. Besides, 499 and 520, which minio-go itself tries
// again, are neutral and tried again.
func Classify(err error) attempt.Verdict {
	var answer minio.ErrorResponse
	known := errors.As(err, &answer)
	switch {
	// nginx: the client has gone; Cloudflare: the origin is unwell.
	case answer.StatusCode == 499, answer.StatusCode == 520, !known && hungUp(err):
		return attempt.Verdict{Outcome: window.Neutral, Retry: true}
	case known:
		return attempt.Classify(response{answer.Code, answer.StatusCode})
	}
	return attempt.Verdict{}
}

// hungUp reports whether the service closed the connection before it answered: minio-go makes a text of
// every error of sending that has EOF in it.
func hungUp(err error) bool {
	var sending *url.Error
	return errors.As(err, &sending) && sending.Err != nil &&
		strings.HasPrefix(sending.Err.Error(), "Connection closed by foreign host")
}

// response is an API error in the form that attempt.Classify reads. A status of success, or 0, has no meaning.
type response struct {
	code   string
	status int
}

func (r response) Error() string       { return r.code }
func (r response) ErrorCode() string   { return r.code }
func (r response) HTTPStatusCode() int { return r.status }
