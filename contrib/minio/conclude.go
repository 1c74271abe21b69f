package aimdminio

import (
	"crypto/tls"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/aimd-go/aimd/attempt"
)

// concluding makes an answer of an attempt.ErrNoContact, and of a TLS that does not fit,
// after which another attempt is of no use. minio-go tries every error again that is no
// answer, for 17 seconds, and gives up at once only after an answer with a status such as
// this one's.
type concluding struct{ beneath }

// noContact is the code of that answer.
const noContact = "NoContact"

// RoundTrip implements http.RoundTripper.
func (c *concluding) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.base.RoundTrip(req)
	if !errors.Is(err, attempt.ErrNoContact) && !mismatched(err) {
		return resp, err
	}
	document, wrong := xml.Marshal(struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}{Code: noContact, Message: err.Error()})
	if wrong != nil {
		return nil, err
	}
	return &http.Response{
		Status: "400 " + noContact, StatusCode: http.StatusBadRequest,
		Proto: req.Proto, ProtoMajor: req.ProtoMajor, ProtoMinor: req.ProtoMinor,
		// The headers are for HEAD, whose answers have no body.
		Header: http.Header{
			"Content-Type":       {"application/xml"},
			"X-Minio-Error-Code": {noContact}, "X-Minio-Error-Desc": {err.Error()},
		},
		Body: io.NopCloser(strings.NewReader(string(document))), ContentLength: int64(len(document)), Request: req,
	}, nil
}

// mismatched reports a certificate that is not trusted, and an endpoint without TLS.
func mismatched(err error) bool {
	var (
		certificate *tls.CertificateVerificationError
		plain       tls.RecordHeaderError
	)
	return errors.As(err, &certificate) || errors.As(err, &plain)
}
