package server

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAllBitsMeanNoBound(t *testing.T) {
	for n, known := range map[uint64]bool{1024: true, 1 << 40: true, math.MaxInt64: false, math.MaxUint64: false} {
		got, ok := bound(n)
		assert.Equal(t, known, ok, n)
		assert.Equal(t, n, got)
	}
}

func TestFiles(t *testing.T) {
	n, known := OpenFiles()
	if runtime.GOOS == "windows" {
		assert.False(t, known)
	} else if known {
		assert.GreaterOrEqual(t, n, uint64(16))
	}
}
