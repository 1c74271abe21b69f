// Package filelimit knows how many files a process may have open.
package filelimit

import "math"

// limit leaves out what means no bound: all bits set, or all but the sign.
func limit(n uint64) (uint64, bool) { return n, n < math.MaxInt64 }
