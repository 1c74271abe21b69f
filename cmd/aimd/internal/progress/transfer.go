package progress

import (
	"fmt"
	"math"
	"time"
)

// Transfer is how far a transfer of files is.
type Transfer struct {
	// Files and Bytes are sent or skipped; Bytes counts the files under way too.
	Files, Bytes int64
	// Sent is the part of Bytes that was sent, in the time since the start.
	Sent  int64
	Since time.Duration
	// AllFiles and AllBytes are to be done in the end; 0: not known yet.
	AllFiles, AllBytes int64
}

// String is the line for people. The time left comes first: a terminal cuts the end off.
func (t Transfer) String() (s string) {
	files, bytes := fmt.Sprint(t.Files), Bytes(t.Bytes)
	rate := float64(t.Sent) / max(t.Since.Seconds(), 1e-3)
	if t.AllFiles > 0 {
		s = Bar(min(1, float64(t.Bytes)/max(1, float64(t.AllBytes))))
		if left := float64(t.AllBytes-t.Bytes) / rate; t.Files < t.AllFiles && left < (100*time.Hour).Seconds() {
			s += fmt.Sprintf("%v left  ", time.Duration(math.Ceil(max(0, left)))*time.Second)
		}
		files, bytes = fmt.Sprintf("%s/%d", files, t.AllFiles), bytes+" of "+Bytes(t.AllBytes)
	}
	return fmt.Sprintf("%s%s files  %s  %s/s", s, files, bytes, Bytes(int64(rate)))
}

// Bytes is a number of bytes in a unit that suits it.
func Bytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/(1<<10), 0
	for ; x >= 999.95 && unit < 3; unit++ {
		x /= 1 << 10
	}
	return fmt.Sprintf("%.1f %s", x, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}
