package answer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/aimd-go/aimd/answer"
)

// As overrides whatever the answer says; Success makes it one, and Unknown takes the override back.
func TestAs(t *testing.T) {
	for _, status := range []int{200, 403, 503} {
		a := answer.Read(status, map[string][]string{"X-Should-Retry": {"false"}, "Retry-After": {"7"}}, nil, time.Time{})
		for m := answer.Success; m <= answer.Closed; m++ {
			b := a.As(m)
			assert.Equal(t, m, b.Meaning(time.Hour), "%d as %v", status, m)
			assert.Equal(t, m != answer.Success, b.Failed(), "%d as %v", status, m)
			assert.Equal(t, 7*time.Second, b.Wait)
			assert.Equal(t, a, b.As(answer.Unknown))
		}
	}
}
