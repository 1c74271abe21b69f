package aimdaws

import (
	"testing"

	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd"
)

// What failed before it was sent narrows no window, so nothing paces it: it
// takes the ordinary backoff, whatever its code.
func TestUnsentIsNotPaced(t *testing.T) {
	l, err := aimd.NewReno()
	require.NoError(t, err)
	refused := &smithy.GenericAPIError{Code: "SlowDown"}
	require.True(t, paced(l, refused))
	require.False(t, paced(l, &unsentError{error: refused, times: 1}))
}
