package answer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/answer"
)

// anthropic-sdk-go makes an error of an event in mid-stream: the header of the stream, and the data of the event alone.
func TestTheDataOfAnEventIsRead(t *testing.T) {
	for kind, want := range map[string]answer.Meaning{"api_error": answer.Unclear, "overloaded_error": answer.Refused} {
		a := answer.Read(200, map[string][]string{"Content-Type": {"text/event-stream"}},
			[]byte(`{"type":"error","error":{"type":"`+kind+`","message":"any"}}`), noon)
		assert.True(t, a.Failed(), kind)
		assert.Equal(t, want, a.Meaning(soon), kind)
	}
}
