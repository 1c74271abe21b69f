package attempt

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

var Holds = holds

// An attempt and the body of its answer fit into 112 bytes, a size class of the runtime.
func TestAnAttemptIsSmall(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.LessOrEqual(t, unsafe.Sizeof(Attempt{}), uintptr(112))
	}
}
