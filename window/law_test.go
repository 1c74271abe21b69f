package window_test

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/window"
)

// Go keeps a struct in registers if it has at most four fields and four words, and so has each struct in it. One field
// more, and an acquire and release take half as long again.
func TestALawIsAskedInRegisters(t *testing.T) {
	fits := func(t *testing.T, s reflect.Type) {
		require.LessOrEqual(t, s.NumField(), 4)
		require.LessOrEqual(t, s.Size(), 4*unsafe.Sizeof(uint64(0))) // with 32 bits there are no such registers
	}
	for _, s := range []reflect.Type{reflect.TypeFor[window.End](), reflect.TypeFor[window.Marks](), reflect.TypeFor[window.State]()} {
		t.Run(s.Name(), func(t *testing.T) { fits(t, s) })
	}
}
