package verdict_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/verdict"
	"github.com/aimd-go/aimd/window"
)

// An error that is a text: a batch's item, or fmt.Errorf("unexpected status code: %d"). 952 of 1000 were lost in Do.
func TestStatusesAndCodesInAText(t *testing.T) {
	for _, text := range []string{
		"unexpected status code: 429", "unexpected HTTP status 503", "HTTP 429", "status 429", "503 Service Unavailable",
		"es_rejected_execution_exception: rejected execution of coordinating operation",
		"TooManyRequestsException: Rate exceeded", "RequestLimitExceeded: Request limit exceeded.", "toomanyrequests: retry-after: 985.86µs, allowed: 44000/minute",
	} {
		v := verdict.Classify(errors.New(text))
		assert.True(t, v.Retry(), "%q: %v", text, v.Meaning)
		assert.Equal(t, window.Overload, v.Outcome(), text)
	}
	for _, text := range []string{"order 429 not found", "took 503 ms", "503 items", "wrote 429 bytes", "unexpected status code: 404", "page 429 of 503"} {
		assert.False(t, verdict.Classify(errors.New(text)).Retry(), text)
	}
}
