package answer_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/aimd-go/aimd/answer"
)

// noon is the time at which the answers of testdata came, and soon the longest Retry-After of a limiter by default.
var noon = time.Date(2026, time.November, 25, 12, 0, 0, 0, time.UTC)

const soon = 5 * time.Minute

// said is a meaning and a wait as the first line of a file has them: "refused 30s". A success has no meaning.
func said(a answer.Answer) string {
	if m := a.Meaning(soon); !a.Failed() && m != answer.Partly {
		return "success"
	}
	text := a.Meaning(soon).String()
	if a.Wait > 0 {
		text += " " + a.Wait.String()
	}
	return text
}

// Each file of testdata is a raw answer of a service. Its first line is what the answer means, with the wait that it tells;
// the lines with a # are its source. A body is packed as its header says.
func TestAnswersOfStrangers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.http")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 150)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".http"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			want, raw, _ := strings.Cut(string(text), "\n")
			sourced := false
			for strings.HasPrefix(raw, "#") {
				_, raw, sourced = strings.Cut(raw, "\n")
			}
			require.True(t, sourced, "a line with its source")
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw+"\n\n")), nil)
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			body = packed(t, resp.Header.Get("Content-Encoding"), bytes.TrimRight(body, "\n"))
			a := answer.Read(resp.StatusCode, resp.Header, body, noon)
			if meaning, wait, _ := strings.Cut(want, " "); wait != "" {
				d, err := time.ParseDuration(wait)
				require.NoError(t, err)
				want = meaning + " " + d.String()
			}
			assert.Equal(t, want, said(a), "codes %q, text %q", a.Codes, a.Text)
		})
	}
}

func packed(t *testing.T, encoding string, body []byte) []byte {
	t.Helper()
	var to bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&to)
	case "deflate":
		w = zlib.NewWriter(&to)
	default:
		return body
	}
	_, err := w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return to.Bytes()
}
