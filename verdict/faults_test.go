package verdict_test

import (
	"errors"
	"fmt"
	"net/textproto"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

// largeError is gRPC's error of a message that is too large.
type largeError struct {
	grpcError
	text string
}

func (e largeError) Error() string { return "rpc error: code = ResourceExhausted desc = " + e.text }

// Faults of errors that users of other clients reported. Each lost work here once, or was asked for ever.
func TestErrorsOfStrangers(t *testing.T) {
	for _, c := range []struct {
		err  error
		want verdict.Verdict
	}{
		// golang/go#76296, curl/curl#5119: on the first stream of a connection, and on a later one.
		{errors.New("http2: Transport received GOAWAY from server ErrCode:ENHANCE_YOUR_CALM"), overload},
		{errors.New(`http2: server sent GOAWAY and closed the connection; LastStreamID=1999, ErrCode=ENHANCE_YOUR_CALM, debug="too_many_pings"`), overload},
		{errors.New("http2: Transport received GOAWAY from server ErrCode:INTERNAL_ERROR"), again},
		{errors.New("ENHANCE_YOUR_CALM"), unknown},

		// grpc/grpc#10612, temporalio/sdk-go#466, thanos-io/thanos#4708.
		{largeError{grpcError{8}, "grpc: received message larger than max (5308389 vs. 4194304)"}, final},
		{fmt.Errorf("call: %w", largeError{grpcError{8}, "gRPC message exceeds maximum size 4194304: 5308389"}), final},
		{largeError{grpcError{8}, "Received message exceeds the maximum configured message size."}, final},
		{largeError{grpcError{14}, "larger than max"}, overload},

		// knadh/listmonk#2273, nodemailer/nodemailer#436.
		{&textproto.Error{Code: 454, Msg: "Throttling failure: Maximum sending rate exceeded."}, overload},
		{&textproto.Error{Code: 450, Msg: "Too many requests. Try again later."}, overload},
		{fmt.Errorf("send: %w", &textproto.Error{Code: 432, Msg: "4.3.2 throttled"}), overload},
		{&textproto.Error{Code: 421, Msg: "Service not available, closing transmission channel."}, again},
		{&textproto.Error{Code: 425, Msg: "Can't open data connection."}, again},
		{&textproto.Error{Code: 426, Msg: "Connection closed; transfer aborted."}, again},
		{&textproto.Error{Code: 450, Msg: "4.2.0 Greylisted"}, again},
		{&textproto.Error{Code: 459, Msg: "busy"}, again},
		{&textproto.Error{Code: 460, Msg: "busy"}, unknown},
		{&textproto.Error{Code: 430, Msg: "No such article"}, unknown},
		{&textproto.Error{Code: 423, Msg: "No such article"}, unknown},
		{&textproto.Error{Code: 550, Msg: "no such user; rate limit"}, final},
	} {
		assert.Equal(t, c.want, verdict.Classify(c.err), "%v", c.err)
	}
}

// A service that hangs up for load resets the streams of HTTP/2, and not the connection. A classifier that asks CutOff
// did not see it.
func TestAStreamThatBreaksOffIsCutOff(t *testing.T) {
	for code, want := range map[reset]bool{0x1: false, 0x2: true, 0x7: false, 0x8: true, 0xb: false} {
		assert.Equal(t, want, verdict.CutOff(fmt.Errorf("get: %w", code)), code)
	}
}

// A bucket that is full: Ceph Object Gateway, versity/versitygw#503. An upload to it was tried for ever. Google's
// quotaExceeded is of a rate, and so is Amazon's SP-API's with 429.
func TestABucketThatIsFull(t *testing.T) {
	for _, code := range []string{"QuotaExceeded", "QUOTA_EXCEEDED", "ObjectQuotaExceeded"} {
		assert.Equal(t, answer.Spent, verdict.Classify(apiError{code, 403}).Meaning, code)
	}
	assert.Equal(t, answer.Guessed, verdict.Classify(apiError{"quotaExceeded", 403}).Meaning)
	assert.Equal(t, answer.Guessed, verdict.Classify(apiError{"QuotaExceeded", 429}).Meaning)
}
