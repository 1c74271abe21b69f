package grpclimit

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/aimd-go/aimd"
	"github.com/aimd-go/aimd/answer"
	"github.com/aimd-go/aimd/verdict"
)

const (
	// pushback is the trailer of gRFC A6, "Server Pushback".
	pushback = "grpc-retry-pushback-ms"
	// longestDelay is the longest delay that is believed, as in httplimit.
	longestDelay = 365 * 24 * time.Hour
)

// Classify is a verdict.Classifier for clients without the interceptors of this package, which do the same. It
// leaves errors without a status to the next classifier:
//
//	aimd.Config{Classifier: verdict.FirstOf(grpclimit.Classify, verdict.Classify)}
//
// It reads the code as verdict.Classify does. Besides:
//
//   - RetryInfo in the details is the service's Retry-After. The interceptors take the longer delay if
//     there is a grpc-retry-pushback-ms too. Negative delays, and those over a year, do not count.
//   - A QuotaFailure in the details of a RESOURCE_EXHAUSTED is final, for the reason aimd.ErrQuota,
//     unless there is a RetryInfo: then the quota comes back soon, as Google's quotas per minute do.
func Classify(err error) verdict.Verdict {
	if _, ok := status.FromError(err); !ok {
		return verdict.Verdict{}
	}
	return verdict.Classify(read(err, nil, true))
}

type answerError struct {
	error
	facts verdict.Facts
}

func (e *answerError) Unwrap() error              { return e.error }
func (e *answerError) GRPCStatus() *status.Status { return status.Convert(e.error) }
func (e *answerError) Facts() verdict.Facts       { return e.facts }

// read returns the error with the information of its status and the call's trailer beyond the code, or
// the same error without such information. reached: the service sent a header or a trailer; an
// UNAVAILABLE without them is gRPC's own.
func read(err error, trailer metadata.MD, reached bool) error {
	s, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	var known verdict.Factual
	if errors.As(err, &known) {
		return err // of an interceptor inside of this one
	}
	unreached := !reached && s.Code() == codes.Unavailable
	after, forbidden := pushedBack(trailer)
	after = max(after, retryInfo(s))
	v := verdict.Classify(err)
	switch {
	case after == 0 && outOfQuota(s):
		v = verdict.Verdict{Meaning: answer.Spent, Reason: aimd.ErrQuota}
	case after == 0 && !forbidden && !unreached:
		return err
	default:
		if v.Wait = after; forbidden {
			v.Reason = errForbidden
		}
	}
	facts := verdict.Facts{Verdict: v}
	if unreached {
		facts.Reach = verdict.Unreached
	}
	return &answerError{err, facts}
}

func retryInfo(s *status.Status) time.Duration {
	for _, detail := range s.Details() {
		info, ok := detail.(*errdetails.RetryInfo)
		if !ok || info.GetRetryDelay().CheckValid() != nil {
			continue
		}
		if d := info.GetRetryDelay().AsDuration(); d > 0 && d <= longestDelay {
			return d
		}
	}
	return 0
}

func outOfQuota(s *status.Status) bool {
	return s.Code() == codes.ResourceExhausted && slices.ContainsFunc(s.Details(), func(detail any) bool {
		_, ok := detail.(*errdetails.QuotaFailure)
		return ok
	})
}

// errForbidden is why there is no other attempt after a pushback that is negative.
var errForbidden = errors.New("grpclimit: the service asks for no other attempt (" + pushback + ")")

// pushedBack reads the trailer. "If the value for pushback is negative or unparseable, then it will be
// seen as the server asking the client not to retry at all" (gRFC A6).
func pushedBack(trailer metadata.MD) (after time.Duration, forbidden bool) {
	values := trailer.Get(pushback)
	if len(values) == 0 {
		return 0, false
	}
	ms, err := strconv.ParseUint(values[0], 10, 32)
	if err != nil || len(values) > 1 {
		return 0, true
	}
	return min(time.Duration(ms)*time.Millisecond, longestDelay), false
}
