package local

import (
	"crypto/md5"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/cmd/aimd/internal/upload/sum"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("123456789"), 0o644))
	var told error
	f, err := Open(path, func(err error) { told = err })
	require.NoError(t, err)
	defer f.Close()
	b, err := io.ReadAll(f.Section(2, 3))
	require.NoError(t, err)
	assert.Equal(t, "345", string(b))
	s, err := f.Sum(sum.CRC32, 0, f.Size())
	require.NoError(t, err)
	assert.Equal(t, "cbf43926", hex.EncodeToString(s))
	require.NoError(t, f.Unchanged())
	require.NoError(t, told)

	require.NoError(t, os.Truncate(path, 4))
	b, err = io.ReadAll(f.Section(2, 3))
	require.ErrorIs(t, err, ErrShrunk, "an end of file that comes too soon is no end")
	assert.Equal(t, "34", string(b))
	require.ErrorIs(t, told, ErrShrunk)
	require.ErrorIs(t, f.Unchanged(), ErrShrunk)
	_, err = f.Sum(sum.CRC32C, 0, f.Size())
	require.ErrorIs(t, err, ErrShrunk)
	_, err = f.MD5(0, f.Size())
	require.ErrorIs(t, err, ErrShrunk)
	_, err = f.PartsETag(3)
	require.ErrorIs(t, err, ErrShrunk)
}

func TestPartsETag(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("aab"), 0o644))
	f, err := Open(path, nil)
	require.NoError(t, err)
	defer f.Close()
	first, second := md5.Sum([]byte("aa")), md5.Sum([]byte("b"))
	want := sum.PartsETag([][]byte{first[:], second[:]})
	got, err := f.PartsETag(2)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestOpenTakesRegularFilesOnly(t *testing.T) {
	_, err := Open(t.TempDir(), nil)
	require.EqualError(t, err, "no regular file any more")
	_, err = Open(filepath.Join(t.TempDir(), "none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}
