package miniolimit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

// Classify is a verdict.Classifier for what verdict.Classify cannot read of minio-go's errors: a connection that
// was cut off comes as text. It is neutral and tried again. Classify leaves all others, the codes and statuses of an
// ErrorResponse, to the next of verdict.FirstOf:
//
//	aimd.Config{Classifier: verdict.FirstOf(miniolimit.Classify, verdict.Classify)}
func Classify(err error) verdict.Verdict {
	var said minio.ErrorResponse
	if !errors.As(err, &said) && hungUp(err) {
		return verdict.Verdict{Meaning: answer.Passing}
	}
	return verdict.Verdict{}
}

// hungUp reports whether the service closed the connection before it answered: minio-go makes a text of
// every error of sending that has EOF in it.
func hungUp(err error) bool {
	var sending *url.Error
	return errors.As(err, &sending) && sending.Err != nil &&
		strings.HasPrefix(sending.Err.Error(), "Connection closed by foreign host")
}

// errorDocument is the part of a body that is searched for an error, in bytes, as in minio-go.
const errorDocument = 1 << 20

// revealing corrects the status of a 200 with an error inside: S3 sends the status of a long operation before it is
// done, and the limiter reads the status only.
type revealing struct{ base http.RoundTripper }

// CloseIdleConnections is for http.Client.CloseIdleConnections.
func (r *revealing) CloseIdleConnections() {
	if c, ok := r.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (r *revealing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.base.RoundTrip(req)
	if err != nil || resp == nil || resp.StatusCode != http.StatusOK || !long(req) {
		return resp, err
	}
	start, err := io.ReadAll(io.LimitReader(resp.Body, errorDocument))
	if err != nil {
		resp.Body.Close()
		return nil, fmt.Errorf("miniolimit: reading an answer of status %d: %w", resp.StatusCode, err)
	}
	if status := meant(resp.Header, start); status != 0 {
		resp.StatusCode, resp.Status = status, fmt.Sprintf("%d %s", status, http.StatusText(status))
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}
	return resp, nil
}

// long reports whether the request is for one of the operations whose 200 may be an error:
// CompleteMultipartUpload, DeleteObjects, CopyObject, UploadPartCopy.
func long(req *http.Request) bool {
	switch req.Method {
	case http.MethodPost:
		q := req.URL.Query()
		return q.Has("uploadId") || q.Has("delete")
	case http.MethodPut:
		return req.Header.Get("X-Amz-Copy-Source") != ""
	}
	return false
}

// meant is the status for the error in a body, or 0 if another try does not help.
func meant(h http.Header, body []byte) int {
	said := answer.Read(http.StatusOK, h, body, time.Now())
	if !said.Failed() {
		return 0
	}
	switch said.Meaning(longest) {
	case answer.Refused, answer.Guessed, answer.Stopped:
		return http.StatusServiceUnavailable
	case answer.Slow:
		return http.StatusGatewayTimeout
	case answer.Passing, answer.Unclear:
		return http.StatusInternalServerError
	}
	return 0
}

// longest is the default of aimd.Config.MaxRetryAfter.
const longest = 5 * time.Minute
