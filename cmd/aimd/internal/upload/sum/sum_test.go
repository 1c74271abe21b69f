package sum

import (
	"crypto/md5"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChecksOfTheCatalogue(t *testing.T) {
	// https://reveng.sourceforge.io/crc-catalogue/all.htm: the check of each is that of "123456789".
	for name, want := range map[string]string{
		"CRC64NVME": "ae8b14860a799888", "CRC32C": "e3069283", "CRC32": "cbf43926",
	} {
		for _, a := range Algorithms() {
			if a.Name == name {
				h := a.New()
				h.Write([]byte("123456789"))
				assert.Equal(t, want, hex.EncodeToString(h.Sum(nil)), name)
			}
		}
	}
}

func TestCombineIsTheChecksumOfTheWhole(t *testing.T) {
	of := func(a *Algorithm, b []byte) []byte {
		h := a.New()
		h.Write(b)
		return h.Sum(nil)
	}
	for _, a := range Algorithms() {
		for range 50 {
			b := make([]byte, rand.IntN(5000))
			for i := range b {
				b[i] = byte(rand.Uint32())
			}
			at := rand.IntN(len(b) + 1)
			got := a.Combine(of(a, b[:at]), of(a, b[at:]), int64(len(b)-at))
			require.Equal(t, of(a, b), got, "%s of %d and %d bytes", a.Name, at, len(b)-at)
		}
	}
}

func TestETag(t *testing.T) {
	md5 := "d41d8cd98f00b204e9800998ecf8427e"
	for quoted, want := range map[string][3]any{
		`"` + md5 + `"`:   {md5, true, false},
		`"` + md5 + `-3"`: {md5 + "-3", false, true},
		md5:               {md5, true, false},
		`"something"`:     {"something", false, false},
		"":                {"", false, false},
	} {
		etag, whole, parts := ETag(quoted)
		assert.Equal(t, want, [3]any{etag, whole, parts}, quoted)
	}
}

func TestPartsETag(t *testing.T) {
	a, b := md5.Sum([]byte("a")), md5.Sum([]byte("b"))
	want := md5.Sum(append(a[:], b[:]...))
	assert.Equal(t, hex.EncodeToString(want[:])+"-2", PartsETag([][]byte{a[:], b[:]}))
}
