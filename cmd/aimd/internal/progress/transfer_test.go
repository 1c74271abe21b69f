package progress

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTransfer(t *testing.T) {
	x := Transfer{Files: 10, Bytes: 1 << 20, Sent: 1 << 20, Since: time.Second}
	assert.Equal(t, "10 files  1.0 MiB  1.0 MiB/s", x.String(), "nothing looks done before all is counted")
	x.AllFiles, x.AllBytes = 20, 2<<20
	assert.Equal(t, "[##########----------]  50%  1s left  10/20 files  1.0 MiB of 2.0 MiB  1.0 MiB/s", x.String())
	x.Sent = 0
	assert.Equal(t, "[##########----------]  50%  10/20 files  1.0 MiB of 2.0 MiB  0 B/s", x.String(), "all was skipped so far")
	x.Files, x.Bytes, x.Sent = 20, 2<<20, 5<<20
	assert.Equal(t, "[####################] 100%  20/20 files  2.0 MiB of 2.0 MiB  5.0 MiB/s", x.String())
	assert.Equal(t, "0 files  0 B  0 B/s", Transfer{}.String())
}

// The time that skipped files took shows nothing about the others.
func TestTimeLeftAfterSkippedFiles(t *testing.T) {
	x := Transfer{Files: 900, Bytes: 9 << 30, Sent: 10 << 20, Since: 10 * time.Second, AllFiles: 1000, AllBytes: 10 << 30}
	assert.Contains(t, x.String(), "17m4s left")
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1023 << 10: "1.0 MiB", 5 << 40: "5.0 TiB", 5 << 50: "5120.0 TiB"} {
		assert.Equal(t, want, Bytes(n))
	}
}
